"""Reading a segment: from an offset to whole batches, with as few and as small reads as possible.

Owns the walk over batch headers, the search for an offset and the cutting at batch boundaries. Must
never know other segments or the records inside a batch.

The usual fetch costs one read: where it starts is known from where the last one stopped, and where
it ends is the end of the segment. Otherwise the index leads to within 4096 bytes of either end, and
the headers from there on are walked. Nothing is trusted: a header that cannot be one raises
CorruptSegment with file and position.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from protocol.record_batch import (
    CURRENT_MAGIC,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    MIN_BATCH_LENGTH,
    BatchHeader,
    read_header,
)
from storage.errors import CorruptSegment, check
from storage.filesystem import Buffer, File
from storage.offset_index import OffsetIndex
from storage.segment import Segment
from storage.time_index import TimeIndex

WALK_BYTES = 8192
REBUILD_BYTES = 1 << 20

_unpack_place = Struct(">qi4xb6xi").unpack_from
"""Base offset, length, magic and last offset delta of a batch header."""


class Slice(NamedTuple):
    """Whole batches, and the offset to go on from."""

    data: Buffer
    next_offset: int


def place_at(segment: Segment, data: Buffer, at: int, position: int) -> tuple[int, int, int]:
    """(base offset, last offset, size) of the batch at `at` of data that begins at `position`."""
    base_offset, length, magic, delta = _unpack_place(data, at)
    if (
        length < MIN_BATCH_LENGTH
        or magic != CURRENT_MAGIC
        or delta < 0
        or base_offset < segment.base_offset
    ):
        raise CorruptSegment(segment.log_path, position + at, "no record batch begins here")
    return base_offset, base_offset + delta, length + LENGTH_PREFIX_BYTES


def read_slice(
    segment: Segment,
    file: File,
    index: OffsetIndex,
    offset: int,
    max_bytes: int,
    upper_offset: int,
    *,
    at_least_one: bool,
    may_block: bool,
) -> Slice | None:
    """Whole batches below `upper_offset` from the one with `offset` on; None if it would block."""
    read = file.pread if may_block else file.pread_cached
    size, next_offset = segment.written
    start = segment.hints.get(offset)
    if start is None:
        start = locate(segment, file, index, offset, may_block=may_block)
        if start is None:
            return None
    relative_upper = upper_offset - segment.base_offset
    to_the_end = upper_offset >= next_offset and size - start <= max_bytes
    if to_the_end:
        wanted = size - start
    else:
        # The index may know batches already that are queued and not yet in the file.
        stop = min(index.position_from_offset(relative_upper, size), size)
        wanted = min(max(max_bytes, HEADER_BYTES), max(stop - start, HEADER_BYTES))
    data = read(wanted, start)
    if data is None:
        return None
    if len(data) != wanted:
        raise CorruptSegment(segment.log_path, start + len(data), "the file ends too early")
    end = wanted
    if not to_the_end:
        # The index knows a batch close to the end of what was read; the walk begins there.
        near = min(
            index.position_at_or_before(start + wanted - HEADER_BYTES),
            index.position_before_offset(relative_upper),
        )
        end, next_offset = _whole_batches(segment, data, start, max(near - start, 0), upper_offset)
        if end == 0 or end > max_bytes:
            if not at_least_one:
                return Slice(b"", offset)
            return _first_batch(segment, file, start, offset, upper_offset, may_block=may_block)
    if not may_block:
        segment.remember(next_offset, start + end)
    return Slice(data if end == wanted else memoryview(data)[:end], next_offset)


def _whole_batches(
    segment: Segment, data: Buffer, position: int, at: int, upper_offset: int
) -> tuple[int, int]:
    """Where the whole batches below the upper offset end in `data`, and the next offset."""
    limit = len(data)
    next_offset, last_offset, _ = place_at(segment, data, at, position)
    if at > 0 and last_offset >= upper_offset:
        # A wrong index could otherwise show records that nobody may see yet.
        raise CorruptSegment(segment.index_path, None, "it does not fit its log")
    while at + HEADER_BYTES <= limit:
        _, last_offset, size = place_at(segment, data, at, position)
        if last_offset >= upper_offset or at + size > limit:
            break
        at += size
        next_offset = last_offset + 1
    return at, next_offset


def _first_batch(
    segment: Segment, file: File, start: int, offset: int, upper_offset: int, *, may_block: bool
) -> Slice | None:
    """The one batch at `start`, however large it is."""
    read = file.pread if may_block else file.pread_cached
    head = read(HEADER_BYTES, start)
    if head is None:
        return None
    _, last_offset, size = place_at(segment, head, 0, start)
    if last_offset >= upper_offset:
        return Slice(b"", offset)
    if start + size > segment.written.size_bytes:
        raise CorruptSegment(segment.log_path, start, "a batch is longer than its segment")
    data = read(size, start)
    if data is None:
        return None
    if len(data) != size:
        raise CorruptSegment(segment.log_path, start + len(data), "the file ends too early")
    if not may_block:
        segment.remember(last_offset + 1, start + size)
    return Slice(data, last_offset + 1)


def locate(
    segment: Segment, file: File, index: OffsetIndex, offset: int, *, may_block: bool
) -> int | None:
    """Where the first batch begins that ends at or after `offset`; None if it would block."""
    read = file.pread if may_block else file.pread_cached
    entry = index.entry_at_or_before_offset(offset - segment.base_offset)
    position = entry[1] if entry is not None else 0
    size = segment.written.size_bytes
    while position < size:
        data = read(min(WALK_BYTES, size - position), position)
        if data is None:
            return None
        if entry is not None and len(data) >= HEADER_BYTES:
            # A wrong index could otherwise lead past records in silence.
            last_offset = place_at(segment, data, 0, position)[1]
            if last_offset != segment.base_offset + entry[0]:
                raise CorruptSegment(segment.index_path, None, "it does not fit its log")
            entry = None
        at = 0
        while at + HEADER_BYTES <= len(data):
            _, last_offset, batch_size = place_at(segment, data, at, position)
            if last_offset >= offset:
                return position + at
            at += batch_size
        if at == 0:
            break
        position += at
    raise CorruptSegment(segment.log_path, position, f"no batch reaches offset {offset}")


def walk(
    segment: Segment, file: File, position: int, size: int, chunk_bytes: int
) -> Iterator[tuple[int, BatchHeader]]:
    """Positions and headers of all batches from `position` up to `size`, read in chunks."""
    while position < size:
        data = file.pread(min(chunk_bytes, size - position), position)
        at = 0
        while at + HEADER_BYTES <= len(data):
            _, _, batch_size = place_at(segment, data, at, position)
            yield position + at, read_header(data, at)
            at += batch_size
        if at == 0:
            raise CorruptSegment(segment.log_path, position, "the file ends too early")
        position += at


def rebuild_indexes(segment: Segment, file: File) -> tuple[OffsetIndex, TimeIndex]:
    """The indexes as they would be had they been kept while the segment was written."""
    copy = Segment("", segment.base_offset)
    for _, header in walk(segment, file, 0, segment.written.size_bytes, REBUILD_BYTES):
        copy.advance(header.size_bytes, header.last_offset, header.max_timestamp)
    if segment.closed:
        copy.close()
    index, time_index = copy.index, copy.time_index
    check(index is not None and time_index is not None, "a new segment has its indexes")
    return index or OffsetIndex(), time_index or TimeIndex()
