"""The sparse indexes: Kafka's bytes, lookups that never overshoot, and rebuilding."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.log_environment import LogEnvironment
from storage.memory_filesystem import MemoryFilesystem
from storage.offset_index import OffsetIndex
from storage.partition_log import PartitionLog
from storage.segment import NEVER_SAVED, Segment
from storage.segment_reader import rebuild_indexes
from storage.time_index import TimeIndex
from tests.storage.support.batches import opaque_batch

ENTRIES = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9000)), max_size=40)


def built(steps: list[tuple[int, int]]) -> tuple[OffsetIndex, list[tuple[int, int]]]:
    index, entries = OffsetIndex(), []
    offset = position = 0
    for offset_step, position_step in steps:
        offset += offset_step
        position += position_step
        index.append(offset, position)
        entries.append((offset, position))
    return index, entries


def test_the_bytes_are_kafkas() -> None:
    index, _ = built([(7, 4100), (5, 4200)])
    assert index.to_bytes() == struct.pack(">iiii", 7, 4100, 12, 8300)
    times = TimeIndex()
    times.append_if_later(-1, 3)
    times.append_if_later(1000, 7)
    times.append_if_later(1000, 9)
    times.append_if_later(2000, 12)
    assert times.to_bytes() == struct.pack(">qiqi", 1000, 7, 2000, 12)
    assert times.to_bytes(1) == struct.pack(">qi", 2000, 12)


@given(ENTRIES, st.integers(0, 2000))
def test_an_index_comes_back_from_its_bytes(steps: list[tuple[int, int]], start: int) -> None:
    index, entries = built(steps)
    size = entries[-1][1] + 100 if entries else 0
    again = OffsetIndex.from_bytes(index.to_bytes(), size)
    assert again is not None
    assert again.to_bytes() == index.to_bytes()
    assert index.to_bytes(start) == index.to_bytes()[start * 8 :]


@given(ENTRIES, st.integers(-10, 2100), st.integers(0, 400_000))
def test_lookups_find_the_nearest_entry(
    steps: list[tuple[int, int]], offset: int, position: int
) -> None:
    index, entries = built(steps)
    below = [(last, at) for last, at in entries if last <= offset]
    strictly = [at for last, at in entries if last < offset]
    from_on = [at for last, at in entries if last >= offset]
    assert index.entry_at_or_before_offset(offset) == (below[-1] if below else None)
    assert index.position_before_offset(offset) == (strictly[-1] if strictly else 0)
    assert index.position_from_offset(offset, 77) == (from_on[0] if from_on else 77)
    before = [at for _, at in entries if at <= position]
    assert index.position_at_or_before(position) == (before[-1] if before else 0)


@pytest.mark.parametrize(
    "entries",
    [
        (1, 100, 1, 200),
        (1, 100, 2, 100),
        (-1, 100),
        (1, 0),
        (1, 100, 2, 1000),
        (0, 0, 0, 0),
    ],
)
def test_what_cannot_be_an_index_is_not_taken_for_one(entries: tuple[int, ...]) -> None:
    data = struct.pack(f">{len(entries)}i", *entries)
    assert OffsetIndex.from_bytes(data, 1000) is None
    assert OffsetIndex.from_bytes(data + b"x", 1000) is None


@pytest.mark.parametrize("entries", [(5, 1, 5, 2), (-1, 1), (5, -1)])
def test_what_cannot_be_a_time_index_is_not_taken_for_one(entries: tuple[int, ...]) -> None:
    data = struct.pack(">" + "qi" * (len(entries) // 2), *entries)
    assert TimeIndex.from_bytes(data) is None
    assert TimeIndex.from_bytes(b"x") is None


def filled_log(environment: LogEnvironment) -> PartitionLog:
    log = PartitionLog(environment, "topics/t-0")
    for number in range(60):
        base = log.log_end_offset
        timestamp = 1000 + (number * 7) % 50 + number
        batch = opaque_batch(base, 3, bytes(900), timestamp)
        log.append(batch, base, base + 2, timestamp, roll=number == 40)
    log.flush()
    return log


def test_entries_are_sparse_and_a_rebuild_makes_the_same() -> None:
    environment = LogEnvironment(MemoryFilesystem())
    for segment in filled_log(environment).segments:
        index, time_index = segment.index, segment.time_index
        assert index is not None
        assert time_index is not None
        batches_per_entry = (segment.next_offset - segment.base_offset) / 3 / len(index)
        assert 4 < batches_per_entry < 8
        rebuilt, rebuilt_times = rebuild_indexes(segment, environment.file_of(segment))
        assert rebuilt.to_bytes() == index.to_bytes()
        assert rebuilt_times.to_bytes() == time_index.to_bytes()


def save(environment: LogEnvironment, segment: Segment) -> None:
    for write in segment.save("topics/t-0")[1]:
        environment.filesystem.open(write.path, create=True).pwritev((write.data,), write.at)


@pytest.mark.parametrize("damage", ["none", "missing", "short", "zeros", "garbage"])
def test_a_bad_index_file_is_rebuilt_from_the_log(damage: str) -> None:
    filesystem = MemoryFilesystem()
    environment = LogEnvironment(filesystem)
    segment = filled_log(environment).segments[0]
    save(environment, segment)
    assert segment.index is not None
    assert segment.time_index is not None
    wanted = segment.index.to_bytes(), segment.time_index.to_bytes()
    segment.index = segment.time_index = None
    for path in (segment.index_path, segment.time_index_path):
        content = filesystem.files[path].content
        match damage:
            case "missing":
                filesystem.unlink(path)
            case "short":
                filesystem.files[path].truncate(len(content) - 5)
            case "zeros":
                content[:] = bytes(len(content))
            case "garbage":
                content[:] = b"\xa5" * len(content)
    if damage != "none":
        assert environment.index_of(segment, may_block=False) is None, "a rebuild takes time"
    index = environment.index_of(segment, may_block=True)
    assert index is not None
    assert (index.to_bytes(), environment.time_index_of(segment).to_bytes()) == wanted
    assert (segment in environment.rebuilt) is (damage != "none")
    assert (segment.index_saved == NEVER_SAVED) is (damage != "none")


def test_loaded_indexes_are_bounded_and_unsaved_ones_are_kept() -> None:
    environment = LogEnvironment(MemoryFilesystem(), loaded_index_bytes_max=100)
    log = filled_log(environment)
    closed, active = log.segments
    save(environment, closed)
    wanted = closed.index.to_bytes() if closed.index is not None else b""
    for _ in range(3):
        closed.index = closed.time_index = None
        assert environment.index_of(closed, may_block=True) is not None
        closed.used = False
        environment.time_index_of(closed)
        closed.used = False
        environment._evict()
    assert closed.index is None
    assert active.index is not None
    again = environment.index_of(closed, may_block=True)
    assert again is not None
    assert again.to_bytes() == wanted
