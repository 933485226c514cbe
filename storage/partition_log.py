"""The log of one partition: a row of segments, appended at the end, dropped at the start.

Owns offsets and segments of one directory. Must never know topics, producers, transactions, or how
far readers may see: the upper bound comes with each read.

Files come into being with the first batch; an empty log has none. A segment that is dropped leaves
its files behind as doomed: a crash may bring back a checkpoint that still counts on them, so they
are unlinked only after the next checkpoint.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from storage.errors import check
from storage.filesystem import Buffer
from storage.journal import NO_SPACE_ERRNOS
from storage.log_environment import LogEnvironment
from storage.offset_index import ENTRIES_MAX
from storage.segment import HEADER_BYTES, NO_TIMESTAMP, Segment

SEGMENT_BYTES_MAX = 2**31 - 1
RELATIVE_OFFSET_MAX = 2**31 - 1


class Slice(NamedTuple):
    """Whole batches, and the offset to go on from."""

    data: bytes
    next_offset: int


class LogRow(NamedTuple):
    """A log as the checkpoint remembers it."""

    directory: str
    log_start_offset: int
    log_end_offset: int


class PartitionLog:
    """See the top of this file."""

    def __init__(self, environment: LogEnvironment, directory: str) -> None:
        self.directory = directory
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.size_bytes = 0
        self.unwritten = False
        """The disk was full at the last flush; what is queued waits for the next."""
        self.segments: list[Segment] = []
        self._environment = environment
        self._unflushed: list[Segment] = []

    # ---- appending ----------------------------------------------------------------------------

    def append(
        self, batch: Buffer, base_offset: int, last_offset: int, max_timestamp: int, *, roll: bool
    ) -> None:
        """Queues a batch, whose header has its offsets already; by reference, until `flush`."""
        check(base_offset >= self.log_end_offset, "offsets only rise")
        if roll or not self.segments:
            self._roll(base_offset)
        segment = self.segments[-1]
        unflushed = self._unflushed
        if not unflushed:
            self._environment.touched.append(self)
            self._environment.dirty[self] = None
        if not segment.queue:
            unflushed.append(segment)
        segment.append(batch, last_offset, max_timestamp)
        self.log_end_offset = last_offset + 1
        self.size_bytes += len(batch)

    def _roll(self, base_offset: int) -> None:
        if self.segments:
            self.segments[-1].save_max_timestamp()
        self.segments.append(Segment(self.directory, base_offset))

    def wants_roll(
        self,
        size_bytes: int,
        max_timestamp: int,
        now_ms: int,
        segment_bytes_max: int,
        segment_ms: int,
        record_count: int = 1,
    ) -> bool:
        """Whether a batch of this size should begin a new segment."""
        if not self.segments:
            return False
        segment = self.segments[-1]
        if segment.size_bytes + size_bytes > min(segment_bytes_max, SEGMENT_BYTES_MAX):
            return True
        first = segment.first_timestamp
        if first != NO_TIMESTAMP:
            reached = max_timestamp if max_timestamp != NO_TIMESTAMP else now_ms
            if reached - first > segment_ms:
                return True
        if segment.index is not None and len(segment.index) >= ENTRIES_MAX:
            return True
        last = self.log_end_offset + record_count - 1
        return last - segment.base_offset > RELATIVE_OFFSET_MAX

    def flush(self) -> None:
        """Writes what is queued. A full disk is borne: the bytes are kept for the next call."""
        unflushed = self._unflushed
        try:
            while unflushed:
                segment = unflushed[0]
                file = segment.file
                if file is None:
                    file = self._environment.create_file(segment, self.directory)
                segment.used = True
                segment.flush(file)
                del unflushed[0]
        except OSError as error:
            if error.errno not in NO_SPACE_ERRNOS:
                raise
            for segment in unflushed:
                segment.keep_copies()
            self.unwritten = True
            self._environment.unwritten[self] = None
            return
        if self.unwritten:
            self.unwritten = False
            del self._environment.unwritten[self]

    # ---- reading ------------------------------------------------------------------------------

    def read(
        self,
        offset: int,
        max_bytes: int,
        upper_offset: int,
        *,
        at_least_one: bool,
        may_block: bool,
    ) -> Slice | None:
        """Whole batches from the one that holds `offset` on, all below `upper_offset`.

        None when the page cache does not hold them and `may_block` is false.
        """
        segments = self.segments
        found = bisect_right(segments, offset, key=_base_offset_of) - 1
        for segment in segments[max(found, 0) :]:
            size_bytes, next_offset = segment.written
            if segment.base_offset >= upper_offset:
                break
            if next_offset <= offset:
                continue
            file = self._environment.file_of(segment)
            data = file.pread(size_bytes, 0)
            start = at = 0
            result = offset
            while at + HEADER_BYTES <= len(data):
                _, last, size = segment.place_at(data, at, 0)
                if last >= upper_offset:
                    break
                if last < offset:
                    start = at + size
                elif at + size - start > max_bytes and not (at_least_one and at == start):
                    break
                else:
                    result = last + 1
                at += size
            return Slice(data[start:at], result)
        return Slice(b"", offset)

    # ---- dropping -----------------------------------------------------------------------------

    def set_log_start(self, offset: int) -> None:
        """Moves the start of the log; segments wholly below it are dropped, the active one too."""
        if offset <= self.log_start_offset:
            return
        check(offset <= self.log_end_offset, "the log starts at or before its end")
        self.log_start_offset = offset
        self._environment.dirty[self] = None
        kept = [segment for segment in self.segments if segment.next_offset > offset]
        for segment in self.segments[: len(self.segments) - len(kept)]:
            self._drop(segment)
        self.segments = kept

    def _drop(self, segment: Segment) -> None:
        self.size_bytes -= segment.size_bytes
        if segment in self._unflushed:
            self._unflushed.remove(segment)
        for path in segment.paths:
            self._environment.doomed[path] = None


def _base_offset_of(segment: Segment) -> int:
    return segment.base_offset
