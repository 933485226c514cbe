"""Reads whole partitions with a client: every record, from the first to the last.

Owns one consumer per call. Must never know who wrote the records.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

DEADLINE_SECONDS: Final = 60.0
POLL_SECONDS: Final = 1.0
BATCH: Final = 10_000


def high_watermarks(bootstrap: str, topic: str, partitions: int) -> list[int]:
    consumer = _consumer(bootstrap)
    try:
        return [_watermark(consumer, topic, partition) for partition in range(partitions)]
    finally:
        consumer.close()


def read_all(
    bootstrap: str, topic: str, partitions: int
) -> Mapping[int, Sequence[tuple[int, bytes]]]:
    """(offset, value) of every record up to the high watermark of this moment, by partition."""
    consumer = _consumer(bootstrap)
    try:
        ends = [_watermark(consumer, topic, partition) for partition in range(partitions)]
        starts = [TopicPartition(topic, partition, 0) for partition in range(partitions)]
        consumer.assign(starts)
        found: dict[int, list[tuple[int, bytes]]] = {number: [] for number in range(partitions)}
        deadline = time.monotonic() + DEADLINE_SECONDS
        while any(_is_short(found[number], end) for number, end in enumerate(ends)):
            if time.monotonic() > deadline:
                counts = {number: len(records) for number, records in found.items()}
                raise AssertionError(f"read {counts} records, the ends are {ends}")
            for message in consumer.consume(BATCH, POLL_SECONDS):
                _keep(found, message)
        return found
    finally:
        consumer.close()


def _is_short(records: Sequence[tuple[int, bytes]], end: int) -> bool:
    return (records[-1][0] + 1 if records else 0) < end


def _keep(found: Mapping[int, list[tuple[int, bytes]]], message: Message) -> None:
    error = message.error()
    if error is not None:
        raise KafkaException(error)
    partition, offset, value = message.partition(), message.offset(), message.value()
    if partition is None or offset is None or value is None:
        raise AssertionError("a record without a place or a value")
    found[partition].append((offset, bytes(value)))


def _watermark(consumer: Consumer, topic: str, partition: int) -> int:
    _, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), DEADLINE_SECONDS)
    return int(high)


def _consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 50,
            "log_level": 0,
        }
    )
