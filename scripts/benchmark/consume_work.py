"""Consume a topic of 1 KB records from its beginning with confluent-kafka.

Must never know: which broker answers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from scripts.benchmark import topic
from scripts.benchmark.measure import Measures
from scripts.benchmark.produce_work import fill
from scripts.benchmark.work import Endpoint, Scale, Window, WorkError

RECORD_BYTES = 1_000
FILL_TIME_LIMIT_S = 120.0
CONSUME_RECORDS_MAX = 10_000
STALL_S = 30.0


def ensure_topic(endpoint: Endpoint, scale: Scale) -> str:
    """The topic to read: filled by the first work that needs it, then kept for all rounds."""
    name = f"bench-consume-{scale.consume_records}"
    if not topic.exists(endpoint.bootstrap, name):
        topic.make(endpoint.bootstrap, name, 1)
        fill(endpoint.bootstrap, name, scale.consume_records, RECORD_BYTES, FILL_TIME_LIMIT_S)
    return name


@dataclass(frozen=True)
class ConsumeWork:
    """One consumer, one partition, everything; assigned by hand, so no group is needed."""

    scale: Scale

    @property
    def name(self) -> str:
        """The one name."""
        return "consume-1KB"

    def run(self, endpoint: Endpoint) -> Measures:
        """The clock runs from the assignment to the last record."""
        name = ensure_topic(endpoint, self.scale)
        settings = {"bootstrap.servers": endpoint.bootstrap, "group.id": "bench", "log_level": 2}
        consumer = Consumer({**settings, "enable.auto.commit": False})
        try:
            consumer.list_topics(name, timeout=STALL_S)
            window = Window(endpoint.pid)
            consumer.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
            self._read_all(consumer)
            window.close()
        finally:
            consumer.close()
        return window.record_measures(self.scale.consume_records)

    def _read_all(self, consumer: Consumer) -> None:
        seen = 0
        deadline = time.monotonic() + STALL_S
        while seen < self.scale.consume_records:
            messages = consumer.consume(CONSUME_RECORDS_MAX, timeout=0.2)
            if messages and messages[0].error() is not None:
                raise WorkError(str(messages[0].error()))
            seen += len(messages)
            if messages:
                deadline = time.monotonic() + STALL_S
            elif time.monotonic() > deadline:
                raise WorkError(f"no more records after {seen}")
