"""aiokafka as a client of these tests."""

import asyncio
from collections.abc import Sequence
from typing import Any

import aiokafka

from tests.clients.support.client import CODECS, DEADLINE_SECONDS
from tests.clients.support.records import Record, rich_records

POLL_MS = 1000
BATCH_BYTES = 200_000


class AiokafkaClient:
    """asyncio, with C extensions for the records. Refuses to send neither key nor value."""

    name = "aiokafka"
    codecs = CODECS

    def records(self, count: int) -> Sequence[Record]:
        return rich_records(count, null_twice=False)

    def produce(
        self, bootstrap: str, topic: str, codec: str, partitions: Sequence[Sequence[Record]]
    ) -> None:
        asyncio.run(self._produce(bootstrap, topic, codec, partitions))

    def consume(self, bootstrap: str, topic: str, counts: Sequence[int]) -> list[list[Record]]:
        return asyncio.run(self._consume(bootstrap, topic, counts))

    async def _produce(
        self, bootstrap: str, topic: str, codec: str, partitions: Sequence[Sequence[Record]]
    ) -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=True,
            max_batch_size=BATCH_BYTES,
            linger_ms=5,
        )
        await producer.start()
        try:
            answers = []
            for partition, records in enumerate(partitions):
                for record in records:
                    answer = await producer.send(
                        topic,
                        record.value,
                        record.key,
                        partition,
                        headers=list(record.headers),
                    )
                    answers.append(answer)
            await asyncio.wait_for(asyncio.gather(*answers), DEADLINE_SECONDS)
        finally:
            await producer.stop()

    async def _consume(
        self, bootstrap: str, topic: str, counts: Sequence[int]
    ) -> list[list[Record]]:
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap, group_id=None, enable_auto_commit=False, check_crcs=True
        )
        found: list[list[Record]] = [[] for _ in counts]
        await consumer.start()
        try:
            assigned = [aiokafka.TopicPartition(topic, index) for index in range(len(counts))]
            consumer.assign(assigned)
            await consumer.seek_to_beginning(*assigned)
            async with asyncio.timeout(DEADLINE_SECONDS):
                while sum(map(len, found)) < sum(counts):
                    self._keep(found, await consumer.getmany(timeout_ms=POLL_MS))
        finally:
            await consumer.stop()
        return found

    def _keep(self, found: list[list[Record]], polled: Any) -> None:
        for assigned, messages in polled.items():
            records = found[assigned.partition]
            for message in messages:
                if message.offset != len(records):
                    raise AssertionError(f"offset {message.offset} instead of {len(records)}")
                records.append(Record(message.key, message.value, tuple(message.headers)))
