"""Housekeeping: old records and silent producers go, checkpoints are made, a full disk is seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from broker.batch_intake import only_batch, take_batch
from broker.broker import Broker
from broker.durability import Durability
from broker.housekeeping import Housekeeping
from broker.limits import HOUSEKEEPING_SECONDS
from broker.partition import Partition
from broker.recovery import recover
from broker.settings import Settings
from broker.topic_changes import TopicPlan, create_topic
from protocol.records import Record, build_batch
from storage.memory_filesystem import MemoryFilesystem

START_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
ROUNDS_MAX = 200


class House:
    """A broker in memory with a clock of its own and housekeeping that runs all the time."""

    def __init__(self, filesystem: MemoryFilesystem, **settings: int) -> None:
        self.now_ms = START_MS
        self.filesystem = filesystem
        chosen = Settings(
            journal_file_bytes=64 * 1024,
            log_retention_check_interval_ms=1,
            producer_id_expiration_check_interval_ms=1,
            **settings,  # type: ignore[arg-type]
        )
        self.state = recover(chosen, filesystem)
        loop = asyncio.get_running_loop()
        self.durability = Durability(self.state, loop, None, fail)
        self.broker = Broker(chosen, self.state, self.durability, now_ms=lambda: self.now_ms)
        self.housekeeping = Housekeeping(self.broker, loop)

    def append(self, partition: Partition, **fields: int) -> None:
        batch = build_batch(
            [Record(0, 0, None, bytes(400), ())],
            base_timestamp=self.now_ms,
            **fields,  # type: ignore[arg-type]
        )
        take_batch(self.broker, partition, *only_batch(memoryview(batch)))
        self.durability.flush()

    async def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(ROUNDS_MAX):
            if condition():
                return
            await asyncio.sleep(HOUSEKEEPING_SECONDS / 10)
        raise AssertionError("housekeeping did not do its work")


def fail(error: BaseException) -> None:
    raise AssertionError from error


def run(scenario: Callable[[House], Awaitable[None]], **settings: int) -> None:
    async def whole() -> None:
        house = House(MemoryFilesystem(), **settings)
        house.housekeeping.start()
        try:
            await scenario(house)
        finally:
            await house.housekeeping.stop()
            house.state.store.close()

    asyncio.run(whole())


def test_segments_past_their_time_go() -> None:
    async def scenario(house: House) -> None:
        configs = {"retention.ms": str(HOUR_MS), "segment.bytes": "1024"}
        partition = create_topic(house.broker, TopicPlan("a", 1, configs)).partitions[0]
        for _ in range(6):
            house.append(partition)
        house.now_ms += 2 * HOUR_MS
        house.append(partition)
        await house.until(lambda: partition.log_start_offset == 6)
        assert partition.high_watermark == 7

    run(scenario)


def test_segments_beyond_the_size_go() -> None:
    async def scenario(house: House) -> None:
        configs = {"retention.bytes": "2000", "segment.bytes": "1024"}
        partition = create_topic(house.broker, TopicPlan("a", 1, configs)).partitions[0]
        for _ in range(12):
            house.append(partition)
        await house.until(lambda: partition.log_start_offset > 0)
        assert partition.log.size_bytes >= 2000

    run(scenario)


def test_a_compacted_topic_keeps_its_old_records() -> None:
    async def scenario(house: House) -> None:
        configs = {"retention.ms": "1", "segment.bytes": "1024", "cleanup.policy": "compact"}
        kept = create_topic(house.broker, TopicPlan("a", 1, configs)).partitions[0]
        dropped_configs = {"retention.ms": "1", "segment.bytes": "1024"}
        dropped = create_topic(house.broker, TopicPlan("b", 1, dropped_configs)).partitions[0]
        batch = build_batch([Record(0, 0, b"key", b"value", ())], base_timestamp=START_MS)
        for partition in (kept, dropped):
            take_batch(house.broker, partition, *only_batch(memoryview(bytearray(batch))))
        house.durability.flush()
        house.now_ms += HOUR_MS
        await house.until(lambda: dropped.log_start_offset == 1)
        assert kept.log_start_offset == 0

    run(scenario)


def test_a_silent_producer_is_forgotten_and_an_active_one_is_not() -> None:
    async def scenario(house: House) -> None:
        partition = create_topic(house.broker, TopicPlan("a", 1, {})).partitions[0]
        house.append(partition, producer_id=1, producer_epoch=0, base_sequence=0)
        house.now_ms += HOUR_MS
        house.append(partition, producer_id=2, producer_epoch=0, base_sequence=0)
        await house.until(lambda: list(partition.eos.producers) == [2])

    run(scenario, producer_id_expiration_ms=HOUR_MS)


def test_a_checkpoint_is_made_after_enough_bytes() -> None:
    async def scenario(house: House) -> None:
        partition = create_topic(house.broker, TopicPlan("a", 1, {})).partitions[0]
        before = set(house.filesystem.listdir("journal"))
        for _ in range(400):
            house.append(partition)
        await house.until(lambda: not before & set(house.filesystem.listdir("journal")))

    run(scenario, checkpoint_interval_bytes=64 * 1024)


def test_crashes_in_a_row_do_not_pile_up_journal_files() -> None:
    filesystem = MemoryFilesystem()

    async def life() -> None:
        house = House(filesystem)
        house.housekeeping.start()
        await house.until(lambda: wal_files() == 1)
        house.state.store.close()

    def wal_files() -> int:
        return sum(name.endswith(".wal") for name in filesystem.listdir("journal"))

    for _ in range(6):
        asyncio.run(life())
    assert len(filesystem.listdir("journal")) <= 4


def test_after_a_clean_stop_nothing_is_replayed() -> None:
    filesystem = MemoryFilesystem()

    async def first() -> None:
        house = House(filesystem)
        house.housekeeping.start()
        partition = create_topic(house.broker, TopicPlan("a", 1, {})).partitions[0]
        house.append(partition, producer_id=1, producer_epoch=0, base_sequence=0)
        await house.housekeeping.stop()
        house.state.store.close()

    async def second() -> None:
        house = House(filesystem)
        assert house.state.store.journal.end == house.state.store.journal.durable
        topic = house.state.topics.get("a")
        assert topic is not None
        assert topic.partitions[0].high_watermark == 1
        assert list(topic.partitions[0].eos.producers) == [1]
        house.state.store.close()

    asyncio.run(first())
    asyncio.run(second())


def test_a_nearly_full_disk_is_noticed_and_so_is_its_end() -> None:
    class SmallDisk(MemoryFilesystem):
        free = 1 << 40

        def free_bytes(self) -> int:
            return SmallDisk.free

    async def scenario() -> None:
        house = House(SmallDisk())
        house.housekeeping.start()
        await house.until(lambda: not house.broker.disk_is_full)
        SmallDisk.free = 0
        await house.until(lambda: house.broker.disk_is_full)
        SmallDisk.free = 1 << 40
        await house.until(lambda: not house.broker.disk_is_full)
        await house.housekeeping.stop()
        house.state.store.close()

    asyncio.run(scenario())
