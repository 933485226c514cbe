"""Power loss at every point, with the broker's real state and `apply` on top of the real storage.

A small workload (topics made, grown, configured and deleted, idempotent batches, log starts moved,
producers forgotten, checkpoints) runs over a recording file system; every disk image a crash may
leave is recovered. Each recovered state must be one the broker really had, at or after the last one
it acknowledged; and recovering once more must change nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from broker import checkpoint_tables
from broker.batch_intake import only_batch, take_batch
from broker.broker import Broker
from broker.changes import Change, LogStartMoved, ProducerIdAllocated, ProducersForgotten
from broker.durability import Durability
from broker.recovery import recover
from broker.settings import Settings
from broker.state import State
from broker.topic_changes import (
    TopicPlan,
    add_partitions,
    configure_topic,
    create_topic,
    delete_topic,
)
from protocol.records import Record, build_batch
from storage.memory_filesystem import MemoryFilesystem
from tests.storage.support.crash_images import Recording, images
from tests.storage.support.disk import Disk, Note, mounted
from tests.storage.support.recording_filesystem import RecordingFilesystem
from tests.storage.support.toy_broker import Model

SETTINGS = Settings(journal_file_bytes=64 * 1024)
NOW_MS = 1_700_000_000_000
STEPS = 40
SAMPLES = 2


class ManualLoop:
    """A loop that only remembers what it was asked to call."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.calls.append(callback)


class ManualSyncer:
    """Syncs when the test says so."""

    def __init__(self) -> None:
        self.done: Callable[[], None] | None = None

    def start(self, done: Callable[[], None]) -> None:
        self.done = done

    def close(self) -> None:
        """Nothing to end."""


class Driver:
    """A broker without sockets on a recording file system."""

    def __init__(self, filesystem: RecordingFilesystem, seed: int) -> None:
        self.filesystem = filesystem
        self.chance = random.Random(seed)
        self.state = recover(SETTINGS, filesystem)
        self.syncer = ManualSyncer()
        self.durability = Durability(
            self.state,
            ManualLoop(),  # type: ignore[arg-type]
            self.syncer,
            self.fail,
        )
        ids = iter(range(1, 1_000))
        self.broker = Broker(
            SETTINGS,
            self.state,
            self.durability,
            now_ms=lambda: NOW_MS,
            new_id=lambda: next(ids).to_bytes(16, "big"),
        )
        self.states = [describe(self.state)]
        self.sequences: dict[tuple[bytes, int], int] = {}

    def fail(self, error: BaseException) -> None:
        raise AssertionError("storage failed") from error

    def step(self) -> None:
        """One change, decided as the APIs decide it."""
        choices = (self.produce, self.produce, self.produce, self.produce, self.administer)
        self.chance.choice(choices)()
        self.states.append(describe(self.state))

    def produce(self) -> None:
        topics = list(self.state.topics)
        if not topics:
            create_topic(self.broker, TopicPlan(f"topic-{self.chance.randrange(3)}", 2, {}))
            return
        topic = self.chance.choice(topics)
        partition = self.chance.choice(topic.partitions)
        key = (topic.topic_id, partition.index)
        count = self.chance.randint(1, 3)
        sequence = self.sequences.get(key, 0)
        records = [Record(i, 0, None, self.chance.randbytes(9), ()) for i in range(count)]
        batch = build_batch(
            records, base_timestamp=NOW_MS, producer_id=7, producer_epoch=0, base_sequence=sequence
        )
        take_batch(self.broker, partition, *only_batch(memoryview(batch)))
        self.sequences[key] = sequence + count

    def administer(self) -> None:
        topics = list(self.state.topics)
        if not topics or self.chance.random() < 0.2:
            free = [n for n in ("a", "b", "c") if self.state.topics.get(n) is None]
            if free:
                create_topic(
                    self.broker, TopicPlan(self.chance.choice(free), 2, {"segment.bytes": "1024"})
                )
            return
        topic = self.chance.choice(topics)
        partition = self.chance.choice(topic.partitions)
        end = partition.log.log_end_offset
        change: Change
        match self.chance.randrange(6):
            case 0:
                add_partitions(self.broker, topic, len(topic.partitions) + 1)
                return
            case 1:
                configure_topic(self.broker, topic, {"retention.ms": str(self.chance.randrange(9))})
                return
            case 2:
                delete_topic(self.broker, topic)
                return
            case 3:
                change = ProducerIdAllocated(self.state.producer_ids.next_id)
            case 4 if end:
                change = LogStartMoved(topic.topic_id, partition.index, self.chance.randint(0, end))
            case _:
                change = ProducersForgotten(topic.topic_id, partition.index, [7])
                self.sequences.pop((topic.topic_id, partition.index), None)
        self.durability.commit((change,))

    def sync(self) -> None:
        self.durability.flush()
        if self.syncer.done is not None:
            done, self.syncer.done = self.syncer.done, None
            self.state.store.journal.sync()
            done()

    def checkpoint(self) -> None:
        self.durability.flush()
        self.state.store.checkpoint(checkpoint_tables.collect(self.state))


def describe(state: State) -> dict[str, object]:
    """Everything a client could ever learn from this state, as plain values."""
    topics = {}
    for topic in state.topics:
        partitions = []
        for partition in topic.partitions:
            producers = {
                producer_id: (producer.producer_epoch, tuple(producer.batches))
                for producer_id, producer in partition.eos.producers.items()
            }
            log = partition.log
            partitions.append((log.log_start_offset, log.log_end_offset, producers))
        topics[topic.name] = (topic.topic_id, dict(topic.configs), partitions)
    return {"topics": topics, "next producer id": state.producer_ids.next_id}


def contents(state: State) -> dict[tuple[bytes, int], bytes]:
    """The bytes a reader gets of every partition from its start to its end."""
    found: dict[tuple[bytes, int], bytes] = {}
    for topic in state.topics:
        for partition in topic.partitions:
            log = partition.log
            offset, data = log.log_start_offset, b""
            while offset < log.log_end_offset:
                piece = log.read(
                    offset, 1 << 20, log.log_end_offset, at_least_one=True, may_block=True
                )
                assert piece is not None
                assert piece.next_offset > offset
                data += piece.data
                offset = piece.next_offset
            found[topic.topic_id, partition.index] = data
    return found


def record(seed: int) -> tuple[Recording, list[dict[str, object]]]:
    filesystem = RecordingFilesystem()
    driver = Driver(filesystem, seed)
    filesystem.note(0)
    for _ in range(STEPS):
        driver.step()
        driver.durability.flush()
        if driver.chance.random() < 0.5:
            driver.sync()
            filesystem.note(len(driver.states) - 1)
        if driver.chance.random() < 0.12:
            driver.checkpoint()
    return Recording(Disk(), filesystem.operations, Model(), []), driver.states


def recovered(filesystem: MemoryFilesystem) -> State:
    return recover(SETTINGS, filesystem)


@pytest.mark.parametrize("seed", range(4))
def test_every_crash_leaves_a_state_that_was_acknowledged_or_later(seed: int) -> None:
    recording, states = record(seed)
    count = 0
    for image in images(recording, seed, SAMPLES):
        notes = [op.value for op in recording.operations[: image.point] if isinstance(op, Note)]
        if not notes:
            continue
        filesystem = mounted(image.disk)
        state = recovered(filesystem)
        found, data = describe(state), contents(state)
        allowed = states[max(notes) :]
        assert found in allowed, f"seed {seed}, {image.kind} at operation {image.point}"
        state.store.close()
        again = recovered(filesystem)
        assert describe(again) == found
        assert contents(again) == data
        again.store.close()
        count += 1
    assert count > 300
