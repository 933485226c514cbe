"""A segment: one `.log` file of a partition with its two indexes.

Owns the bytes between two offsets: what is queued, what is written, what the indexes say. Must
never know the other segments, the journal, or what is inside a batch beyond its header.

Written means: in the file, though maybe only in the page cache; the journal makes it durable.
Readers see the written part only. They may run in another thread than `append` and `flush`: what
they need they take from one tuple, `written`, and from indexes that only grow.

Indexes are in memory while a segment takes batches, and until a checkpoint has written them. Later
they are loaded when asked for, see storage/log_environment.py.
"""

from __future__ import annotations

from typing import NamedTuple

from storage.errors import check
from storage.filesystem import Buffer, File
from storage.offset_index import ENTRY_BYTES, INDEX_INTERVAL_BYTES, OffsetIndex
from storage.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from storage.time_index import TimeIndex
from storage.vectors import write_all

NO_TIMESTAMP = -1
NEVER_SAVED = -1
HINTS_MAX = 16


class SegmentRow(NamedTuple):
    """A segment as the checkpoint remembers it."""

    directory: str
    base_offset: int
    next_offset: int
    size_bytes: int
    first_timestamp: int
    max_timestamp: int
    offset_of_max_timestamp: int
    last_indexed_position: int
    index_entries: int
    time_index_entries: int


class Written(NamedTuple):
    """How much of a segment readers may see."""

    size_bytes: int
    next_offset: int


class IndexWrite(NamedTuple):
    """Bytes that belong into an index file."""

    path: str
    at: int
    data: bytes


class Segment:
    """See the top of this file."""

    __slots__ = (
        "base_offset",
        "closed",
        "file",
        "first_timestamp",
        "hints",
        "index",
        "index_is_proven",
        "index_saved",
        "last_indexed_position",
        "max_timestamp",
        "next_offset",
        "offset_of_max_timestamp",
        "path",
        "queue",
        "size_bytes",
        "time_index",
        "time_index_saved",
        "used",
        "written",
    )

    def __init__(self, directory: str, base_offset: int) -> None:
        self.path = f"{directory}/{base_offset:020d}"
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size_bytes = 0
        self.closed = False
        self.first_timestamp = NO_TIMESTAMP
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self.index: OffsetIndex | None = OffsetIndex()
        self.time_index: TimeIndex | None = TimeIndex()
        self.index_saved = NEVER_SAVED
        self.time_index_saved = NEVER_SAVED
        self.index_is_proven = True
        """Made from the log itself; one that was loaded from its file may have rotted there."""
        self.last_indexed_position = 0
        self.file: File | None = None
        self.used = False
        self.queue: list[Buffer] = []
        self.written = Written(0, base_offset)
        self.hints: dict[int, int] = {}
        """Where batches begin at which readers stopped, by offset: where they will go on."""

    @classmethod
    def restore(cls, row: SegmentRow) -> Segment:
        """The segment as it was; its indexes are loaded when they are needed."""
        segment = cls(row.directory, row.base_offset)
        segment.next_offset = row.next_offset
        segment.size_bytes = row.size_bytes
        segment.first_timestamp = row.first_timestamp
        segment.max_timestamp = row.max_timestamp
        segment.offset_of_max_timestamp = row.offset_of_max_timestamp
        segment.last_indexed_position = row.last_indexed_position
        segment.index = None
        segment.time_index = None
        segment.index_is_proven = False
        segment.index_saved = row.index_entries
        segment.time_index_saved = row.time_index_entries
        segment.written = Written(row.size_bytes, row.next_offset)
        return segment

    @property
    def log_path(self) -> str:
        return self.path + ".log"

    @property
    def index_path(self) -> str:
        return self.path + ".index"

    @property
    def time_index_path(self) -> str:
        return self.path + ".timeindex"

    @property
    def indexes_saved(self) -> bool:
        """Whether the index files hold all that the indexes in memory do."""
        return (self.index is None or len(self.index) == self.index_saved) and (
            self.time_index is None or len(self.time_index) == self.time_index_saved
        )

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int) -> None:
        """Queues a batch by reference: it must not change before `flush`."""
        self.advance(len(batch), last_offset, max_timestamp)
        self.queue.append(batch)

    def advance(self, size_bytes: int, last_offset: int, max_timestamp: int) -> None:
        """Counts and indexes a batch. The indexes must be in memory if it wants an entry."""
        if self.size_bytes == 0:
            self.first_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if self.size_bytes - self.last_indexed_position > INDEX_INTERVAL_BYTES:
            index = self.index
            check(index is not None, "the index of a segment that takes batches is in memory")
            if index is not None:
                index.append(last_offset - self.base_offset, self.size_bytes)
            self.last_indexed_position = self.size_bytes
            self._index_max_timestamp()
        self.size_bytes += size_bytes
        self.next_offset = last_offset + 1

    def close(self) -> None:
        """No batch will follow; the largest timestamp is entered into the time index."""
        self.closed = True
        self._index_max_timestamp()

    def _index_max_timestamp(self) -> None:
        time_index = self.time_index
        check(time_index is not None, "the index of a segment that takes batches is in memory")
        if time_index is not None:
            time_index.append_if_later(
                self.max_timestamp, self.offset_of_max_timestamp - self.base_offset
            )

    def flush(self, file: File) -> None:
        """Writes what is queued; on an error everything stays queued."""
        at = self.written.size_bytes
        write_all(file, self.queue, self.size_bytes - at, at)
        self.queue = []
        self.written = Written(self.size_bytes, self.next_offset)

    def keep_copies(self) -> None:
        """The queued buffers belong to others: copies can wait."""
        self.queue = [b"".join(self.queue)]

    def remember(self, offset: int, position: int) -> None:
        """A reader will come back for `offset`; the batch that holds it begins at `position`."""
        hints = self.hints
        if len(hints) >= HINTS_MAX:
            hints.pop(next(iter(hints)), None)
        hints[offset] = position

    def save(self, directory: str) -> tuple[SegmentRow, list[IndexWrite]]:
        """What the checkpoint has to remember, and the index bytes it has to write for that."""
        writes = []
        if self.index is not None and len(self.index) > self.index_saved:
            start = max(self.index_saved, 0)
            data = self.index.to_bytes(start)
            writes.append(IndexWrite(self.index_path, start * ENTRY_BYTES, data))
            self.index_saved = len(self.index)
        if self.time_index is not None and len(self.time_index) > self.time_index_saved:
            start = max(self.time_index_saved, 0)
            data = self.time_index.to_bytes(start)
            writes.append(IndexWrite(self.time_index_path, start * TIME_ENTRY_BYTES, data))
            self.time_index_saved = len(self.time_index)
        return self._row(directory), writes

    def _row(self, directory: str) -> SegmentRow:
        return SegmentRow(
            directory,
            self.base_offset,
            self.next_offset,
            self.size_bytes,
            self.first_timestamp,
            self.max_timestamp,
            self.offset_of_max_timestamp,
            self.last_indexed_position,
            self.index_saved,
            self.time_index_saved,
        )
