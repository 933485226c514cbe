"""Topics for a work: made before it, counted and deleted after it, through confluent-kafka.

Must never know: what is measured.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

TIMEOUT_S = 30.0
POLL_S = 0.02
QUIET = {"log_level": 2}


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, **QUIET})


def make(bootstrap: str, name: str, partitions: int) -> None:
    """Create the topic and wait until every partition has a leader."""
    admin = _admin(bootstrap)
    for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        future.result(TIMEOUT_S)
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        found = admin.list_topics(name, timeout=TIMEOUT_S).topics[name]
        led = [part for part in found.partitions.values() if part.leader >= 0]
        if found.error is None and len(led) == partitions:
            return
        time.sleep(POLL_S)
    raise TimeoutError(f"topic {name} has no leaders")


def drop(bootstrap: str, name: str) -> None:
    """Delete the topic; a broker that cannot is no reason to lose the figures."""
    try:
        for future in _admin(bootstrap).delete_topics([name]).values():
            future.result(TIMEOUT_S)
    except KafkaException:
        pass


def exists(bootstrap: str, name: str) -> bool:
    """Whether the broker lists the topic."""
    return name in _admin(bootstrap).list_topics(timeout=TIMEOUT_S).topics


def record_count(bootstrap: str, name: str, partitions: int) -> int:
    """The sum of the end offsets: what the broker says it holds."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench-count", **QUIET})
    try:
        ends = [
            consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=TIMEOUT_S)[1]
            for partition in range(partitions)
        ]
    finally:
        consumer.close()
    return sum(ends)


@contextmanager
def temporary(bootstrap: str, partitions: int) -> Iterator[str]:
    """A fresh topic for one run."""
    name = f"bench-{uuid.uuid4().hex[:12]}"
    make(bootstrap, name, partitions)
    try:
        yield name
    finally:
        drop(bootstrap, name)
