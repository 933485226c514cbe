"""confluent-kafka (librdkafka) as a client of these tests."""

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.clients.support.client import CODECS, DEADLINE_SECONDS
from tests.clients.support.records import Record, rich_records

CONSUME_BATCH = 10_000


class ConfluentClient:
    """Python over librdkafka."""

    name = "confluent-kafka"
    codecs = CODECS

    def records(self, count: int) -> Sequence[Record]:
        return rich_records(count)

    def produce(
        self, bootstrap: str, topic: str, codec: str, partitions: Sequence[Sequence[Record]]
    ) -> None:
        failures: list[str] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(str(error))

        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "enable.idempotence": True,
                "queue.buffering.max.messages": 1_000_000,
            }
        )
        for partition, records in enumerate(partitions):
            for record in records:
                headers: Any = list(record.headers)
                producer.produce(
                    topic,
                    record.value,
                    record.key,
                    partition,
                    headers=headers,
                    on_delivery=delivered,
                )
                producer.poll(0)
        left = producer.flush(DEADLINE_SECONDS)
        if left or failures:
            raise AssertionError(f"{left} without an answer, {failures[:3]}")

    def consume(self, bootstrap: str, topic: str, counts: Sequence[int]) -> list[list[Record]]:
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "check.crcs": True,
            }
        )
        found: list[list[Record]] = [[] for _ in counts]
        try:
            consumer.assign([TopicPartition(topic, index, 0) for index in range(len(counts))])
            deadline = time.monotonic() + DEADLINE_SECONDS
            while sum(map(len, found)) < sum(counts):
                if time.monotonic() > deadline:
                    raise AssertionError(f"read {[len(one) for one in found]} of {counts}")
                for message in consumer.consume(CONSUME_BATCH, 1.0):
                    self._keep(found, message)
        finally:
            consumer.close()
        return found

    def _keep(self, found: list[list[Record]], message: Message) -> None:
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        partition = message.partition()
        if partition is None or message.offset() != len(found[partition]):
            raise AssertionError(f"offset {message.offset()} of partition {partition} is not next")
        key: Any = message.key()
        value: Any = message.value()
        headers: Any = message.headers() or []
        found[partition].append(Record(key, value, tuple(headers)))
