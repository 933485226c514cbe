"""Durability: nothing is visible or answered before its sync, and a failure is final."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from broker.batch_intake import only_batch, take_batch
from broker.broker import Broker
from broker.durability import Durability
from broker.partition import Partition
from broker.recovery import recover
from broker.settings import Settings
from broker.syncer import ThreadSyncer
from broker.topic_changes import TopicPlan, create_topic
from protocol.records import Record, build_batch
from storage.memory_filesystem import MemoryFile, MemoryFilesystem

SETTINGS = Settings(journal_file_bytes=64 * 1024)


class HeldSyncer:
    """A sync that ends when the test says so."""

    def __init__(self) -> None:
        self.pending: list[Callable[[], None]] = []

    def start(self, done: Callable[[], None]) -> None:
        self.pending.append(done)

    def close(self) -> None:
        """Nothing to end."""

    def finish(self) -> None:
        self.pending.pop(0)()


class Scene:
    """One partition whose syncs are held."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        state = recover(SETTINGS, MemoryFilesystem())
        self.syncer = HeldSyncer()
        self.failures: list[BaseException] = []
        self.durability = Durability(state, loop, self.syncer, self.failures.append)
        self.broker = Broker(SETTINGS, state, self.durability)
        topic = create_topic(self.broker, TopicPlan("events", 1, {}))
        self.partition: Partition = topic.partitions[0]
        self.durability.flush()
        self.syncer.finish()

    def append(self) -> int:
        batch = build_batch([Record(0, 0, None, b"value", ())])
        take_batch(self.broker, self.partition, *only_batch(memoryview(batch)))
        self.durability.flush()
        return self.durability.position


class IdleLoop:
    """Nothing runs by itself in these tests."""

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Forget it: the tests flush themselves."""


@pytest.fixture
def scene() -> Scene:
    return Scene(IdleLoop())  # type: ignore[arg-type]


def test_a_batch_is_applied_at_once_and_visible_only_after_its_sync(scene: Scene) -> None:
    scene.append()
    assert scene.partition.log.log_end_offset == 1
    assert scene.partition.high_watermark == 0
    scene.syncer.finish()
    assert scene.partition.high_watermark == 1


def test_what_is_written_during_a_sync_waits_for_the_next(scene: Scene) -> None:
    told: list[int] = []
    first = scene.append()
    scene.durability.when_durable(first, lambda: told.append(1))
    second = scene.append()
    scene.durability.when_durable(second, lambda: told.append(2))
    assert len(scene.syncer.pending) == 1
    scene.syncer.finish()
    assert (told, scene.partition.high_watermark) == ([1], 1)
    scene.syncer.finish()
    assert (told, scene.partition.high_watermark) == ([1, 2], 2)
    assert scene.syncer.pending == []


def test_waiting_readers_are_woken_by_the_publication(scene: Scene) -> None:
    woken: list[int] = []
    scene.partition.wait(lambda: woken.append(scene.partition.high_watermark))
    scene.append()
    assert woken == []
    scene.syncer.finish()
    assert woken == [1]


def test_a_failed_sync_is_reported_and_nothing_becomes_durable() -> None:
    class FailingFile(MemoryFile):
        fails = False

        def fdatasync(self) -> None:
            if FailingFile.fails:
                raise OSError(5, "Input/output error")

    class FailingFilesystem(MemoryFilesystem):
        def open(self, path: str, create: bool) -> MemoryFile:
            if path not in self.files and create:
                self.files[path] = FailingFile()
            return super().open(path, create)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        state = recover(SETTINGS, FailingFilesystem())
        failed: asyncio.Future[BaseException] = loop.create_future()
        syncer = ThreadSyncer(state.store.journal, loop, failed.set_result)
        durability = Durability(state, loop, syncer, failed.set_result)
        broker = Broker(SETTINGS, state, durability)
        create_topic(broker, TopicPlan("events", 1, {}))
        await durability.wait(durability.position)
        durable = durability.durable_position
        FailingFile.fails = True
        create_topic(broker, TopicPlan("more", 1, {}))
        durability.flush()
        error = await asyncio.wait_for(failed, 10)
        assert isinstance(error, OSError)
        assert durability.durable_position == durable

    asyncio.run(scenario())


def test_a_change_that_cannot_be_applied_is_fatal(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(scene.partition.log, "append", fail)
    with pytest.raises(OSError, match="Too many"):
        scene.append()
    assert len(scene.failures) == 1


def test_without_a_syncer_full_journal_files_are_let_go() -> None:
    state = recover(SETTINGS, MemoryFilesystem())
    durability = Durability(state, IdleLoop(), None, lambda _: None)  # type: ignore[arg-type]
    broker = Broker(SETTINGS, state, durability)
    partition = create_topic(broker, TopicPlan("events", 1, {})).partitions[0]
    for _ in range(200):
        batch = build_batch([Record(0, 0, None, bytes(2_000), ())])
        take_batch(broker, partition, *only_batch(memoryview(batch)))
        durability.flush()
    assert state.store.journal.unsynced_files == 0
