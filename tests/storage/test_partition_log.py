"""A partition's log: reads against a plain model, rolls, the start of the log, full disks."""

from __future__ import annotations

import errno
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.errors import BrokenInvariant, CorruptSegment
from storage.filesystem import Filesystem, OsFilesystem
from storage.log_environment import LogEnvironment
from storage.memory_filesystem import MemoryFilesystem
from storage.partition_log import PartitionLog
from tests.storage.support.batches import opaque_batch
from tests.storage.support.failing_filesystem import FailingFilesystem, fail_from

DIRECTORY = "topics/t-0"
FAR = 1 << 40


def new_log(filesystem: Filesystem | None = None, open_files_max: int = 8) -> PartitionLog:
    return PartitionLog(LogEnvironment(filesystem or MemoryFilesystem(), open_files_max), DIRECTORY)


def append(
    log: PartitionLog, payload: bytes = b"", *, count: int = 1, gap: int = 0, roll: bool = False
) -> bytes:
    base = log.log_end_offset + gap
    batch = opaque_batch(base, count, payload)
    log.append(batch, base, base + count - 1, 1000, roll=roll)
    return batch


def read(
    log: PartitionLog,
    offset: int,
    max_bytes: int = 1 << 20,
    upper: int = FAR,
    *,
    at_least_one: bool = False,
    may_block: bool = False,
) -> tuple[bytes, int]:
    found = log.read(offset, max_bytes, upper, at_least_one=at_least_one, may_block=may_block)
    assert found is not None
    return bytes(found.data), found.next_offset


@dataclass
class Stored:
    base: int
    last: int
    data: bytes
    segment: int


def expected(
    batches: list[Stored], offset: int, max_bytes: int, upper: int, at_least_one: bool
) -> tuple[bytes, set[int]]:
    """What Kafka's rules say, step by step; in a gap there is more than one way to go on."""
    rest = [batch for batch in batches if batch.last >= offset]
    data, next_offsets = b"", {offset}
    for batch in rest:
        if batch.last >= upper or batch.segment != rest[0].segment:
            break
        if len(data) + len(batch.data) > max_bytes and not (at_least_one and not data):
            return data, next_offsets | {batch.base} if data else next_offsets
        data += batch.data
        next_offsets = {batch.last + 1}
    return data, next_offsets


SHAPES = st.lists(
    st.tuples(
        st.integers(1, 5),
        st.integers(0, 3),
        st.sampled_from([0, 1, 30, 200, 1500, 5000, 9000]),
        st.sampled_from([False, False, False, False, True]),
    ),
    min_size=1,
    max_size=40,
)


@given(SHAPES, st.data())
@settings(max_examples=150, deadline=None)
def test_reads_return_what_the_rules_say(
    shapes: list[tuple[int, int, int, bool]], data: st.DataObject
) -> None:
    log = new_log(open_files_max=2)
    batches: list[Stored] = []
    segment = 0
    for count, gap, size, roll in shapes:
        segment += roll and bool(batches)
        payload = bytes([len(batches) % 251]) * size
        batch = append(log, payload, count=count, gap=gap, roll=roll)
        end = log.log_end_offset
        batches.append(Stored(end - count, end - 1, batch, segment))
        log.flush()
    for _ in range(12):
        offset = data.draw(st.integers(0, log.log_end_offset + 2))
        upper = data.draw(st.sampled_from([FAR, *(batch.base for batch in batches)]))
        max_bytes = data.draw(st.sampled_from([1, 61, 100, 300, 4096, 10000, 1 << 20]))
        at_least_one = data.draw(st.booleans())
        may_block = data.draw(st.booleans())
        found, next_offset = read(
            log, offset, max_bytes, upper, at_least_one=at_least_one, may_block=may_block
        )
        wanted, next_offsets = expected(batches, offset, max_bytes, upper, at_least_one)
        assert found == wanted
        assert next_offset in next_offsets


@given(SHAPES, st.sampled_from([1, 200, 5000, 1 << 20]))
@settings(max_examples=50, deadline=None)
def test_a_reader_that_goes_on_sees_everything_once(
    shapes: list[tuple[int, int, int, bool]], max_bytes: int
) -> None:
    log = new_log()
    written = b""
    for count, gap, size, roll in shapes:
        written += append(log, bytes(size), count=count, gap=gap, roll=roll)
    log.flush()
    seen, offset = b"", 0
    while True:
        data, next_offset = read(log, offset, max_bytes, at_least_one=True)
        if not data:
            break
        assert next_offset > offset
        seen, offset = seen + data, next_offset
    assert seen == written
    assert offset == log.log_end_offset


def test_an_empty_log_has_no_files() -> None:
    filesystem = MemoryFilesystem()
    log = new_log(filesystem)
    log.flush()
    assert read(log, 0) == (b"", 0)
    assert filesystem.files == {}


def test_what_is_queued_is_not_visible_before_the_flush() -> None:
    log = new_log()
    batch = append(log)
    assert log.log_end_offset == 1
    assert read(log, 0) == (b"", 0)
    log.flush()
    assert read(log, 0) == (batch, 1)


def test_batches_that_are_queued_do_not_disturb_readers() -> None:
    log = new_log()
    written = [append(log, bytes(5_000)) for _ in range(3)]
    log.flush()
    for _ in range(5):
        append(log, bytes(5_000))
    assert read(log, 0, upper=3) == (b"".join(written), 3)
    assert read(log, 1, 6_000, upper=3) == (written[1], 2)


def test_offsets_only_rise() -> None:
    log = new_log()
    append(log, count=3)
    with pytest.raises(BrokenInvariant):
        log.append(opaque_batch(2, 1), 2, 2, 0, roll=False)


def test_more_segments_than_open_files_are_read_and_written() -> None:
    log = new_log(open_files_max=2)
    batches = [append(log, bytes([number]), roll=True) for number in range(9)]
    log.flush()
    for _ in range(2):
        assert [read(log, offset)[0] for offset in range(9)] == batches
    batches.append(append(log, b"x"))
    log.flush()
    assert read(log, 8)[0] == batches[8] + batches[9]


@pytest.mark.parametrize(
    ("size_bytes", "max_timestamp", "now_ms", "expected_roll"),
    [(1000, 100, 0, False), (1001, 100, 0, True), (10, 600, 0, False), (10, 601, 0, True)],
)
def test_a_segment_is_rolled_by_size_and_by_record_time(
    size_bytes: int, max_timestamp: int, now_ms: int, expected_roll: bool
) -> None:
    log = new_log()
    assert not log.wants_roll(10**9, 10**12, 0, 1, 1)
    batch = opaque_batch(0, 1, bytes(139), 100)
    log.append(batch, 0, 0, 100, roll=False)
    assert len(batch) == 200
    assert log.wants_roll(size_bytes, max_timestamp, now_ms, 1200, 500) is expected_roll


def test_a_batch_without_timestamp_rolls_by_the_clock() -> None:
    log = new_log()
    log.append(opaque_batch(0, 1), 0, 0, 100, roll=False)
    assert not log.wants_roll(10, -1, 600, 1 << 30, 500)
    assert log.wants_roll(10, -1, 601, 1 << 30, 500)


def test_a_relative_offset_never_passes_32_bits() -> None:
    log = new_log()
    append(log)
    log.log_end_offset = 2**31 - 1
    assert not log.wants_roll(10, 0, 0, 1 << 30, 1 << 60, record_count=1)
    assert log.wants_roll(10, 0, 0, 1 << 30, 1 << 60, record_count=2)


def test_moving_the_start_drops_whole_segments_and_dooms_their_files() -> None:
    environment = LogEnvironment(MemoryFilesystem())
    log = PartitionLog(environment, DIRECTORY)
    batches = [append(log, bytes(50), count=10, roll=True) for _ in range(4)]
    log.flush()
    log.set_log_start(15)
    assert [segment.base_offset for segment in log.segments] == [10, 20, 30]
    assert log.size_bytes == sum(map(len, batches[1:]))
    assert read(log, 15)[0] == batches[1]
    assert f"{DIRECTORY}/{0:020d}.log" in environment.doomed
    assert environment.filesystem.exists(f"{DIRECTORY}/{0:020d}.log")
    log.set_log_start(3)
    assert log.log_start_offset == 15


def test_the_active_segment_can_go_and_a_new_one_begins() -> None:
    log = new_log()
    append(log, count=10)
    log.flush()
    log.set_log_start(10)
    assert (log.segments, log.size_bytes) == ([], 0)
    assert read(log, 10) == (b"", 10)
    batch = append(log)
    log.flush()
    assert [segment.base_offset for segment in log.segments] == [10]
    assert read(log, 10) == (batch, 11)


def test_the_start_cannot_pass_the_end() -> None:
    log = new_log()
    append(log)
    with pytest.raises(BrokenInvariant):
        log.set_log_start(2)


def test_a_full_disk_keeps_the_bytes_until_there_is_space() -> None:
    filesystem = FailingFilesystem()
    environment = LogEnvironment(filesystem)
    log = PartitionLog(environment, DIRECTORY)
    first = append(log, b"first")
    log.flush()
    filesystem.fault = fail_from(1, errno.ENOSPC, ["write", "create"], once=False)
    buffer = bytearray(opaque_batch(1, 1, b"second"))
    second = bytes(buffer)
    log.append(buffer, 1, 1, 0, roll=False)
    third = append(log, b"third", roll=True)
    log.flush()
    assert log.unwritten
    assert log in environment.unwritten
    buffer[:] = bytes(len(buffer))
    assert read(log, 0) == (first, 1), "reads go on"
    log.flush()
    assert log.unwritten
    filesystem.fault = None
    log.flush()
    assert not log.unwritten
    assert not environment.unwritten
    assert read(log, 0) == (first + second, 2)
    assert read(log, 2) == (third, 3)


def test_a_broken_disk_is_not_borne() -> None:
    filesystem = FailingFilesystem()
    log = new_log(filesystem)
    append(log)
    filesystem.fault = fail_from(1, errno.EIO, ["write"], once=True)
    with pytest.raises(OSError, match="Input/output error"):
        log.flush()


def test_a_damaged_batch_header_is_named_not_followed() -> None:
    filesystem = MemoryFilesystem()
    log = new_log(filesystem)
    for _ in range(3):
        append(log, bytes(100))
    log.flush()
    content = filesystem.files[f"{DIRECTORY}/{0:020d}.log"].content
    content[161 + 8 : 161 + 12] = b"\xff\xff\xff\xff"
    with pytest.raises(CorruptSegment, match=r"00000000000000000000\.log at byte 161"):
        read(log, 2)


def test_a_log_cut_short_behind_our_back_is_named() -> None:
    filesystem = MemoryFilesystem()
    log = new_log(filesystem)
    append(log, bytes(100))
    log.flush()
    filesystem.files[f"{DIRECTORY}/{0:020d}.log"].truncate(100)
    with pytest.raises(CorruptSegment, match="at byte 100"):
        read(log, 0)


def test_reading_what_was_dropped_and_unlinked_meanwhile_gives_nothing() -> None:
    filesystem = MemoryFilesystem()
    log = new_log(filesystem)
    append(log, count=5)
    append(log, count=5, roll=True)
    log.flush()
    segment = log.segments[0]
    log.set_log_start(5)
    filesystem.unlink(segment.log_path)
    segment.index = None
    found = log._read(segment, 0, 100, FAR, True, True)
    assert found is not None
    assert bytes(found.data) == b""


def test_readers_in_threads_see_right_bytes_while_the_log_moves(tmp_path: Path) -> None:
    log = new_log(OsFilesystem(str(tmp_path)), open_files_max=2)
    payloads = [bytes([number % 251]) * (number * 37 % 1500) for number in range(600)]
    batches = [opaque_batch(offset, 1, payload) for offset, payload in enumerate(payloads)]
    ended = threading.Event()

    def read_at_random(seed: int) -> int:
        chance = random.Random(seed)
        seen = 0
        while not ended.is_set() or seen == 0:
            first, end = log.log_start_offset, log.log_end_offset
            if first == end:
                continue
            offset = chance.randrange(first, end)
            found = log.read(offset, 4000, end, at_least_one=True, may_block=True)
            assert found is not None
            if found.data:
                assert bytes(found.data) == b"".join(batches[offset : found.next_offset])
                seen += 1
        return seen

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read_at_random, seed) for seed in range(2)]
        for offset, batch in enumerate(batches):
            log.append(batch, offset, offset, 1000, roll=offset % 20 == 19)
            log.flush()
            if offset % 50 == 49:
                before = [segment.log_path for segment in log.segments]
                log.set_log_start(offset - 30)
                for path in set(before) - {segment.log_path for segment in log.segments}:
                    log._environment.filesystem.unlink(path)
        ended.set()
    assert all(reader.result() > 0 for reader in readers)


def test_reads_on_a_real_directory(tmp_path: Path) -> None:
    log = new_log(OsFilesystem(str(tmp_path)), open_files_max=1)
    batches = [append(log, bytes([number]) * 3000, roll=number == 5) for number in range(10)]
    log.flush()
    seen = b""
    offset = 0
    while offset < 10:
        found = log.read(offset, 7000, FAR, at_least_one=True, may_block=False)
        found = found or log.read(offset, 7000, FAR, at_least_one=True, may_block=True)
        assert found is not None
        seen, offset = seen + bytes(found.data), found.next_offset
    assert seen == b"".join(batches)


def test_indexes_of_segments_closed_in_this_run_are_let_go_once_saved() -> None:
    environment = LogEnvironment(MemoryFilesystem(), 8, loaded_index_bytes_max=64)
    log = PartitionLog(environment, DIRECTORY)
    for _ in range(12):
        for _ in range(4):
            append(log, bytes(5_000))
        log.flush()
        for segment in log.segments:
            # As a checkpoint does: what is in memory is in the index files, too.
            segment.index_saved = len(segment.index) if segment.index is not None else 0
            times = segment.time_index
            segment.time_index_saved = len(times) if times is not None else 0
            segment.used = False
        append(log, bytes(5_000), roll=True)
    kept = [segment for segment in log.segments if segment.index is not None]
    assert len(kept) < len(log.segments) // 2
