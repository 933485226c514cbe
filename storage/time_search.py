"""Finding records by time.

Owns the search for the first record at or after a timestamp and for the one with the largest. Must
never know how segments are kept. Only the batch in question is opened, up to a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from protocol.record_batch import NO_TIMESTAMP, BatchHeader
from protocol.records import read_records
from storage.errors import CorruptSegment, check
from storage.filesystem import File
from storage.log_environment import LogEnvironment
from storage.segment import Segment
from storage.segment_reader import WALK_BYTES, locate, walk

DECOMPRESSED_BYTES_MAX = 128 << 20
"""Of one batch; more than the largest request can hold uncompressed records of."""


class TimestampedOffset(NamedTuple):
    """Where a record is and when it says it was written."""

    offset: int
    timestamp: int


def first_at_or_after(
    environment: LogEnvironment, segment: Segment, timestamp: int, start_offset: int
) -> TimestampedOffset | None:
    """The first record of the segment, from `start_offset` on, that is not older."""
    if segment.max_timestamp < timestamp:
        return None
    first = _first_to_look_at(environment, segment, timestamp, start_offset)
    for file, position, header in _batches(environment, segment, first):
        if header.max_timestamp < timestamp:
            continue
        for found in _timestamps(segment, file, position, header):
            if found.timestamp >= timestamp and found.offset >= start_offset:
                return found
    return None


def _first_to_look_at(
    environment: LogEnvironment, segment: Segment, timestamp: int, start_offset: int
) -> int:
    """An offset from which on the search cannot miss anything, by the time index."""
    entry = environment.time_index_of(segment).entry_at_or_before(timestamp)
    if entry is None:
        return start_offset
    offset = segment.base_offset + entry[1]
    if offset <= start_offset or offset >= segment.written.next_offset:
        # An entry of a batch that is queued and not yet in the file cannot be looked at.
        return start_offset
    header = next((header for _, _, header in _batches(environment, segment, offset)), None)
    if header is not None and (header.max_timestamp, header.last_offset) == (entry[0], offset):
        return offset
    # The index file has rotted. One that was made from the log itself is right.
    check(not segment.index_is_proven, "a time index that was just rebuilt fits its log")
    environment.rebuild(segment)
    return _first_to_look_at(environment, segment, timestamp, start_offset)


def largest(
    environment: LogEnvironment, segment: Segment, start_offset: int, upper_offset: int
) -> TimestampedOffset | None:
    """The first visible record with the largest timestamp, from `start_offset` on."""
    if segment.max_timestamp == NO_TIMESTAMP:
        return None
    found = first_at_or_after(environment, segment, segment.max_timestamp, start_offset)
    if found is not None and found.offset < upper_offset:
        return found
    # The record that had it is cut away, or not to be seen yet: look at all that is left.
    best: TimestampedOffset | None = None
    for file, position, header in _batches(environment, segment, start_offset):
        if best is not None and header.max_timestamp <= best.timestamp:
            continue
        for found in _timestamps(segment, file, position, header):
            visible = start_offset <= found.offset < upper_offset
            if visible and (best is None or found.timestamp > best.timestamp):
                best = found
    return best


def _batches(
    environment: LogEnvironment, segment: Segment, offset: int
) -> Iterator[tuple[File, int, BatchHeader]]:
    size, next_offset = segment.written
    if offset >= next_offset:
        return
    file = environment.file_of(segment)
    index = environment.index_of(segment, may_block=True)
    if index is None:
        return
    start = locate(segment, file, index, offset, may_block=True)
    if start is None:
        return
    for position, header in walk(segment, file, start, size, WALK_BYTES):
        yield file, position, header


def _timestamps(
    segment: Segment, file: File, position: int, header: BatchHeader
) -> Iterator[TimestampedOffset]:
    if header.is_log_append_time or header.is_control:
        if header.max_timestamp != NO_TIMESTAMP:
            yield TimestampedOffset(header.base_offset, header.max_timestamp)
        return
    data = file.pread(header.size_bytes, position)
    if len(data) != header.size_bytes:
        raise CorruptSegment(segment.log_path, position, "the file ends too early")
    for record in read_records(data, 0, header, DECOMPRESSED_BYTES_MAX):
        yield TimestampedOffset(
            header.base_offset + record.offset_delta, header.base_timestamp + record.timestamp_delta
        )
