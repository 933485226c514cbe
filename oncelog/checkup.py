"""The checks that `oncelog doctor` makes of a running broker, over the wire.

Owns what is checked and what is said about it. Never prints; never looks at files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from oncelog.client import Target, explain, reason_of
from oncelog.errors import CommandError
from oncelog.probe import ProbeError, VersionRanges, ask_versions
from oncelog.wording import counted

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

OK: Final = "ok"
WARNING: Final = "warning"
ERROR: Final = "error"

# What a client cannot do without, with the lowest version clients in use still speak.
NEEDED_APIS: Final = {
    0: ("Produce", 7),
    1: ("Fetch", 11),
    2: ("ListOffsets", 3),
    3: ("Metadata", 6),
    10: ("FindCoordinator", 2),
    18: ("ApiVersions", 0),
    19: ("CreateTopics", 3),
    22: ("InitProducerId", 1),
}
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
HEADERS: Final[list[tuple[str, str | bytes | None]]] = [
    ("doctor", b"\x00\xff"),
    ("empty", b""),
    ("none", None),
]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    status: str
    detail: str
    fix: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def check_broker(target: Target, *, write: bool) -> Iterator[Check]:
    """All checks of a broker, in the order in which they make sense; stops when nobody answers."""
    reached = [check_reachable(address, target.timeout_s) for address in target.addresses()]
    yield from (check for check, _ in reached)
    ranges = next((ranges for _, ranges in reached if ranges), None)
    if ranges is None:
        return
    yield check_versions(ranges)
    admin = target.admin()
    yield from check_topics(admin, target.timeout_s)
    if write:
        yield from check_round_trip(target, admin)


def check_reachable(
    address: tuple[str, int], timeout_s: float
) -> tuple[Check, VersionRanges | None]:
    name = f"reach {address[0]}:{address[1]}"
    started_s = time.monotonic()
    try:
        ranges = ask_versions(address, timeout_s)
    except ProbeError as error:
        detail = f"it does not speak Kafka's protocol: {error}"
        return Check(name, ERROR, detail, "name the broker's Kafka port with --bootstrap"), None
    except OSError as error:
        fix = "start a broker with `oncelog serve`, or name another with --bootstrap"
        return Check(name, ERROR, reason_of(error), fix), None
    elapsed_ms = (time.monotonic() - started_s) * 1000
    return Check(name, OK, f"answered in {elapsed_ms:.1f} ms"), ranges


def check_versions(ranges: VersionRanges) -> Check:
    lacking = [
        f"{name} {lowest}"
        for key, (name, lowest) in NEEDED_APIS.items()
        if key not in ranges or not ranges[key][0] <= lowest <= ranges[key][1]
    ]
    if lacking:
        fix = "older clients may fail; update them or the broker"
        return Check("versions", WARNING, f"not understood: {', '.join(lacking)}", fix)
    shown = ", ".join(
        f"{NEEDED_APIS[key][0]} {low}-{high}"
        for key, (low, high) in sorted(ranges.items())
        if key in (0, 1, 3)
    )
    return Check("versions", OK, f"{len(ranges)} requests understood; {shown}")


def check_topics(admin: AdminClient, timeout_s: float) -> Iterator[Check]:
    from confluent_kafka import KafkaException

    try:
        metadata = admin.list_topics(timeout=timeout_s)
    except KafkaException as error:
        # The first connection works and the advertised one does not: a classic of its own.
        fix = "see that the broker's advertised address can be reached from here"
        yield Check("cluster", ERROR, explain(error.args[0]), fix)
        return
    brokers = ", ".join(
        f"{node.id} at {node.host}:{node.port}" for node in metadata.brokers.values()
    )
    yield Check("cluster", OK, f"id {metadata.cluster_id}, broker {brokers}")
    headless = [
        f"{topic.topic}-{partition.id}"
        for topic in metadata.topics.values()
        for partition in topic.partitions.values()
        if partition.leader < 0 or partition.error is not None
    ]
    count = sum(len(topic.partitions) for topic in metadata.topics.values())
    if headless:
        detail = f"{len(headless)} of {count} partitions have no leader: {', '.join(headless[:5])}"
        yield Check("topics", ERROR, detail, "see the broker's log")
    else:
        topics = counted(len(metadata.topics), "topic")
        yield Check("topics", OK, f"{topics}, {counted(count, 'partition')}, all led")


def check_round_trip(target: Target, admin: AdminClient) -> Iterator[Check]:
    """Writes one record with each codec to a new topic, reads them back, deletes the topic."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import NewTopic

    topic = f"oncelog-doctor-{os.urandom(4).hex()}"
    timeout_s = target.timeout_s
    try:
        new = NewTopic(topic, num_partitions=1, replication_factor=1)
        admin.create_topics([new], request_timeout=timeout_s)[topic].result()
    except KafkaException as error:
        fix = "see that the broker lets you create topics"
        yield Check("create topic", ERROR, explain(error.args[0]), fix)
        return
    try:
        yield from _write_and_read(target, topic)
    except (KafkaException, CommandError) as error:
        reason = explain(error.args[0])
        yield Check("round trip", ERROR, reason, "see the broker's log")
    try:
        admin.delete_topics([topic], request_timeout=timeout_s)[topic].result()
    except KafkaException as error:
        fix = f"delete it with: oncelog topics delete {topic}"
        yield Check("delete topic", WARNING, f"{topic}: {explain(error.args[0])}", fix)


def _write_and_read(target: Target, topic: str) -> Iterator[Check]:
    for codec in CODECS:
        _write_one(target, topic, codec)
    expected = {codec: (codec.encode(), _value_for(codec), HEADERS) for codec in CODECS}
    found = _read_all(target, topic, len(expected))
    for codec, record in expected.items():
        if record in found:
            yield Check(f"round trip, {codec}", OK, "written and read back, every byte the same")
        else:
            detail = "what was written did not come back"
            yield Check(f"round trip, {codec}", ERROR, detail, "see the broker's log")


def _value_for(codec: str) -> bytes:
    """Something that compresses, so that the codec is really used."""
    return codec.encode() * 200


def _write_one(target: Target, topic: str, codec: str) -> None:
    timeout_ms = int(target.timeout_s * 1000)
    producer = target.producer(
        {"compression.type": codec, "acks": "all", "message.timeout.ms": timeout_ms}
    )
    refused: list[Any] = []
    producer.produce(
        topic,
        key=codec.encode(),
        value=_value_for(codec),
        headers=HEADERS,
        on_delivery=lambda error, _message: refused.append(error) if error else None,
    )
    left = producer.flush(target.timeout_s)
    if refused or left:
        reason = explain(refused[0]) if refused else "no acknowledgement in time"
        raise CommandError(f"a record compressed with {codec} was not taken: {reason}")


def _read_all(target: Target, topic: str, count: int) -> list[Any]:
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    consumer = target.consumer({"auto.offset.reset": "earliest"})
    found: list[Any] = []
    try:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        deadline_s = time.monotonic() + target.timeout_s
        while len(found) < count and time.monotonic() < deadline_s:
            found += [
                (message.key(), message.value(), message.headers())
                for message in consumer.consume(count - len(found), timeout=0.5)
                if message.error() is None
            ]
    finally:
        consumer.close()
    return found
