"""Produce as fast as one librdkafka client can: idempotent, acks=all.

Must never know: which broker answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from scripts.benchmark import topic
from scripts.benchmark.measure import Measures
from scripts.benchmark.native_producer import NativeProducer
from scripts.benchmark.payload import value_pool
from scripts.benchmark.work import Endpoint, Scale, Window, WorkError

SIZE_NAMES = {100: "100B", 1_000: "1KB", 10_000: "10KB"}


@dataclass(frozen=True)
class ProduceWork:
    """So many records of one size to so many partitions with one codec."""

    scale: Scale
    size_bytes: int
    partitions: int
    codec: str

    @property
    def name(self) -> str:
        """For example produce-1KB-8p-lz4."""
        return f"produce-{SIZE_NAMES[self.size_bytes]}-{self.partitions}p-{self.codec}"

    def run(self, endpoint: Endpoint) -> Measures:
        """Connect and touch every partition first; then the clock runs until the last ack."""
        pool = value_pool(self.size_bytes)
        with topic.temporary(endpoint.bootstrap, self.partitions) as name:
            producer = NativeProducer(endpoint.bootstrap, name, self.codec)
            producer.load(pool, self.partitions)
            first = producer.send(self.partitions, self.scale.time_limit_s)
            window = Window(endpoint.pid)
            records = self.scale.produce_records[self.size_bytes]
            sent = producer.send(records, self.scale.time_limit_s)
            window.close()
            producer.close()
            held = topic.record_count(endpoint.bootstrap, name, self.partitions)
        if held != first + sent:
            raise WorkError(f"{first + sent} records acknowledged, but the broker holds {held}")
        return window.record_measures(sent)


def fill(bootstrap: str, name: str, records: int, size_bytes: int, time_limit_s: float) -> None:
    """Put so many records into the first partition of an existing topic."""
    producer = NativeProducer(bootstrap, name)
    producer.load(value_pool(size_bytes), 1)
    sent = producer.send(records, time_limit_s)
    producer.close()
    if sent != records or topic.record_count(bootstrap, name, 1) != records:
        raise WorkError(f"could not put {records} records into {name}")
