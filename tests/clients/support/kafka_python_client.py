"""kafka-python as a client of these tests."""

import time
from collections.abc import Sequence
from typing import Any

from tests.clients.support.client import CODECS, DEADLINE_SECONDS
from tests.clients.support.records import Record, rich_records
from tests.wire.support.kafka_python import load

_KAFKA: Any = load("kafka")
_CODEC: Any = load("kafka.codec")

POLL_MS = 1000
BATCH_BYTES = 200_000


class KafkaPythonClient:
    """Pure Python. Sends no header without a value and no record with neither key nor value.

    Snappy only when python-snappy is installed too.
    """

    name = "kafka-python"
    codecs = tuple(
        codec for codec in CODECS if codec == "none" or getattr(_CODEC, f"has_{codec}")()
    )

    def records(self, count: int) -> Sequence[Record]:
        return rich_records(count, null_twice=False, null_headers=False)

    def produce(
        self, bootstrap: str, topic: str, codec: str, partitions: Sequence[Sequence[Record]]
    ) -> None:
        producer = _KAFKA.KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            batch_size=BATCH_BYTES,
            linger_ms=20,
        )
        try:
            answers = [
                producer.send(
                    topic, record.value, record.key, list(record.headers), partition=partition
                )
                for partition, records in enumerate(partitions)
                for record in records
            ]
            producer.flush(DEADLINE_SECONDS)
            for answer in answers:
                answer.get(DEADLINE_SECONDS)
        finally:
            producer.close(DEADLINE_SECONDS)

    def consume(self, bootstrap: str, topic: str, counts: Sequence[int]) -> list[list[Record]]:
        consumer = _KAFKA.KafkaConsumer(
            bootstrap_servers=bootstrap, group_id=None, enable_auto_commit=False, check_crcs=True
        )
        found: list[list[Record]] = [[] for _ in counts]
        try:
            assigned = [_KAFKA.TopicPartition(topic, index) for index in range(len(counts))]
            consumer.assign(assigned)
            consumer.seek_to_beginning(*assigned)
            deadline = time.monotonic() + DEADLINE_SECONDS
            while sum(map(len, found)) < sum(counts):
                if time.monotonic() > deadline:
                    raise AssertionError(f"read {[len(one) for one in found]} of {counts}")
                self._keep(found, consumer.poll(POLL_MS, max_records=10_000))
        finally:
            consumer.close()
        return found

    def _keep(self, found: list[list[Record]], polled: Any) -> None:
        for assigned, messages in polled.items():
            records = found[assigned.partition]
            for message in messages:
                if message.offset != len(records):
                    raise AssertionError(f"offset {message.offset} instead of {len(records)}")
                records.append(Record(message.key, message.value, tuple(message.headers)))
