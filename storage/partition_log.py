"""The log of one partition: a row of segments, appended at the end, dropped at the start.

Owns offsets and segments of one directory. Must never know topics, producers, transactions, or how
far readers may see: the upper bound comes with each read.

Files come into being with the first batch; an empty log has none. A segment that is dropped leaves
its files behind as doomed: a crash may bring back a checkpoint that still counts on them, so they
are unlinked only after the next checkpoint.

Reads may run in another thread than the rest: the list of segments is replaced or grown, never
shrunk in place.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from storage.errors import CorruptSegment, check
from storage.filesystem import NO_SPACE_ERRNOS, Buffer, parent_of
from storage.log_environment import LogEnvironment
from storage.offset_index import ENTRIES_MAX, INDEX_INTERVAL_BYTES
from storage.offset_index import ENTRY_BYTES as INDEX_ENTRY_BYTES
from storage.segment import NO_TIMESTAMP, IndexWrite, Segment, SegmentRow
from storage.segment_reader import Slice, read_slice
from storage.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from storage.time_search import TimestampedOffset, first_at_or_after, largest

__all__ = ["LogRow", "PartitionLog", "SegmentRow", "Slice", "TimestampedOffset"]

SEGMENT_BYTES_MAX = 2**31 - 1
RELATIVE_OFFSET_MAX = 2**31 - 1


class LogRow(NamedTuple):
    """A log as the checkpoint remembers it."""

    directory: str
    log_start_offset: int
    log_end_offset: int


class SavedLog(NamedTuple):
    """What the checkpoint has to write about a log, and how to take it back."""

    row: LogRow
    segments: list[SegmentRow]
    dropped: list[tuple[str, int]]
    index_writes: list[IndexWrite]
    changed: list[tuple[Segment, int, int]]


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
        self._changed: dict[Segment, None] = {}
        self._dropped: list[int] = []

    # ---- appending ----------------------------------------------------------------------------

    def append(
        self, batch: Buffer, base_offset: int, last_offset: int, max_timestamp: int, *, roll: bool
    ) -> None:
        """Queues a batch, whose header has its offsets already; by reference, until `flush`."""
        check(base_offset >= self.log_end_offset, "offsets only rise")
        segments = self.segments
        if roll or not segments:
            self._roll(base_offset)
        segment = segments[-1]
        if not segment.queue:
            environment = self._environment
            if not self._unflushed:
                environment.touched.append(self)
            self._unflushed.append(segment)
            environment.dirty[self] = None
            self._changed[segment] = None
        if (
            segment.index is None or segment.time_index is None
        ) and segment.size_bytes - segment.last_indexed_position > INDEX_INTERVAL_BYTES:
            self._environment.load_indexes(segment)
        segment.append(batch, last_offset, max_timestamp)
        self.log_end_offset = last_offset + 1
        self.size_bytes += len(batch)

    def prepare_append(self) -> None:
        """Loads what an append may need from files, so that `append` itself cannot fail on them."""
        if self.segments:
            segment = self.segments[-1]
            if segment.index is None or segment.time_index is None:
                self._environment.load_indexes(segment)

    def _roll(self, base_offset: int) -> None:
        if self.segments:
            last = self.segments[-1]
            self._environment.load_indexes(last)
            last.close()
            self._environment.count_closed(last)
            self._changed[last] = None
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
                segment.flush(self._environment.writable_file_of(segment))
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
            self._environment.unwritten.pop(self, None)

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
        at = len(segments) - 1
        if at >= 0 and offset < segments[at].base_offset:
            at = max(bisect_right(segments, offset, key=_base_offset_of) - 1, 0)
        while 0 <= at < len(segments):
            segment = segments[at]
            if segment.base_offset >= upper_offset:
                break
            if segment.written.next_offset > offset:
                return self._read(segment, offset, max_bytes, upper_offset, at_least_one, may_block)
            at += 1
        return Slice(b"", offset)

    def _read(
        self,
        segment: Segment,
        offset: int,
        max_bytes: int,
        upper_offset: int,
        at_least_one: bool,
        may_block: bool,
    ) -> Slice | None:
        environment = self._environment
        try:
            index = environment.index_of(segment, may_block=may_block)
            if index is None:
                return None
            return read_slice(
                segment,
                environment.file_of(segment),
                index,
                offset,
                max_bytes,
                upper_offset,
                at_least_one=at_least_one,
                may_block=may_block,
            )
        except CorruptSegment:
            if segment not in self.segments:
                # Dropped and unlinked while a thread was on its way to it.
                return Slice(b"", offset)
            if segment.index_is_proven:
                raise
        if not may_block:
            return None
        # Before the log is called damaged, its index must be beyond doubt.
        environment.rebuild(segment)
        return self._read(segment, offset, max_bytes, upper_offset, at_least_one, may_block)

    def offset_for_timestamp(self, timestamp: int, upper_offset: int) -> TimestampedOffset | None:
        """The first record that is not older than `timestamp`. May wait for the disk."""
        for segment in list(self.segments):
            found = first_at_or_after(self._environment, segment, timestamp, self.log_start_offset)
            if found is not None:
                return found if found.offset < upper_offset else None
        return None

    def offset_of_max_timestamp(self, upper_offset: int) -> TimestampedOffset | None:
        """The first of the records with the largest timestamp. May wait for the disk."""
        best: TimestampedOffset | None = None
        for segment in list(self.segments):
            if best is not None and segment.max_timestamp <= best.timestamp:
                continue
            found = largest(self._environment, segment, self.log_start_offset, upper_offset)
            if found is not None and (best is None or found.timestamp > best.timestamp):
                best = found
        return best

    # ---- dropping -----------------------------------------------------------------------------

    def set_log_start(self, offset: int) -> None:
        """Moves the start of the log; segments wholly below it are dropped, the active one too."""
        if offset <= self.log_start_offset:
            return
        check(offset <= self.log_end_offset, "the log starts at or before its end")
        self.log_start_offset = offset
        self._environment.dirty[self] = None
        kept = [segment for segment in self.segments if segment.next_offset > offset]
        dropped = self.segments[: len(self.segments) - len(kept)]
        self.segments = kept
        for segment in dropped:
            self._drop(segment)

    def _drop(self, segment: Segment) -> None:
        self.size_bytes -= segment.size_bytes
        if segment in self._unflushed:
            self._unflushed.remove(segment)
        self._changed.pop(segment, None)
        self._dropped.append(segment.base_offset)
        for path in (segment.log_path, segment.index_path, segment.time_index_path):
            self._environment.doomed[path] = None
        self._environment.forget(segment)

    def close(self) -> None:
        """Lets go of files and indexes; for a log that was removed or at the end of the store."""
        self._environment.dirty.pop(self, None)
        self._environment.unwritten.pop(self, None)
        self._unflushed = []
        for segment in self.segments:
            self._environment.forget(segment)

    # ---- checkpoint ---------------------------------------------------------------------------

    def save(self) -> SavedLog:
        """What changed since the last time; nothing may be queued."""
        check(not self._unflushed, "only what is written can be checkpointed")
        saved = SavedLog(
            LogRow(self.directory, self.log_start_offset, self.log_end_offset),
            [],
            [(self.directory, base_offset) for base_offset in self._dropped],
            [],
            [],
        )
        for segment in self._changed:
            saved.changed.append((segment, segment.index_saved, segment.time_index_saved))
            row, writes = segment.save(self.directory)
            saved.segments.append(row)
            saved.index_writes.extend(writes)
        self._changed = {}
        self._dropped = []
        return saved

    def take_back(self, saved: SavedLog) -> None:
        """The checkpoint was not written: all that was saved is to be saved again."""
        for segment, index_saved, time_index_saved in saved.changed:
            if segment in self.segments:
                segment.index_saved = index_saved
                segment.time_index_saved = time_index_saved
                self._changed[segment] = None
        self._dropped.extend(base_offset for _, base_offset in saved.dropped)
        self._environment.dirty[self] = None

    def save_again(self, segment: Segment) -> None:
        """The segment's index files must be written anew."""
        if segment in self.segments:
            self._changed[segment] = None
            self._environment.dirty[self] = None

    def restore(self, row: LogRow, segments: list[SegmentRow]) -> None:
        """Becomes the log of the checkpoint again; files are cut to what it knew."""
        self.log_start_offset = row.log_start_offset
        self.log_end_offset = row.log_end_offset
        for segment_row in sorted(segments, key=lambda segment: segment.base_offset):
            self.segments.append(Segment.restore(segment_row))
        for segment in self.segments[:-1]:
            segment.closed = True
        self.size_bytes = sum(segment.size_bytes for segment in self.segments)
        self.cut_files()

    def cut_files(self) -> None:
        """Removes what was written after the checkpoint: replay writes it again."""
        filesystem = self._environment.filesystem
        if not filesystem.exists(self.directory):
            if self.segments:
                raise CorruptSegment(self.directory, None, "the directory is missing")
            return
        known: dict[str, int] = {}
        for segment in self.segments:
            known[segment.log_path] = segment.size_bytes
            known[segment.index_path] = max(segment.index_saved, 0) * INDEX_ENTRY_BYTES
            known[segment.time_index_path] = max(segment.time_index_saved, 0) * TIME_ENTRY_BYTES
        for name in filesystem.listdir(self.directory):
            path = f"{self.directory}/{name}"
            if path not in known:
                filesystem.unlink(path)
                continue
            size, wanted = filesystem.size(path), known.pop(path)
            if size > wanted:
                file = filesystem.open(path, create=False)
                file.truncate(wanted)
                file.close()
            elif size < wanted and path.endswith(".log"):
                raise CorruptSegment(path, size, f"the file should have {wanted} bytes")
        for path in known:
            if path.endswith(".log"):
                raise CorruptSegment(path, None, "the file is missing")


def _base_offset_of(segment: Segment) -> int:
    return segment.base_offset


def directory_of(segment: Segment) -> str:
    """The directory of the log that a segment belongs to."""
    return parent_of(segment.path)
