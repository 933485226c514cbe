"""A segment: one `.log` file of a partition with its two indexes.

Owns the bytes between two offsets: what is queued, what is written, where batches begin. Must never
know the other segments, the journal, or what is inside a batch beyond its header.

Written means: in the file, though maybe only in the page cache; the journal is what makes it
durable. Readers see the written part only. They may run in another thread than `append` and
`flush`: what they need is read from one tuple, `written`, and from indexes that only grow.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from storage.errors import CorruptSegment
from storage.filesystem import Buffer, File
from storage.offset_index import INDEX_INTERVAL_BYTES, OffsetIndex
from storage.time_index import TimeIndex
from storage.vectors import write_all

HEADER_BYTES = 61
LENGTH_PREFIX_BYTES = 12
LENGTH_MIN = HEADER_BYTES - LENGTH_PREFIX_BYTES
MAGIC = 2
NO_TIMESTAMP = -1

BATCH_PLACE = Struct(">qi4xb6xi")
"""Base offset, length, magic, last offset delta: what a walk needs of a batch's header."""

_unpack_place = BATCH_PLACE.unpack_from


class SegmentRow(NamedTuple):
    """A segment as the checkpoint remembers it."""

    directory: str
    base_offset: int
    next_offset: int
    size_bytes: int
    first_timestamp: int
    max_timestamp: int
    offset_of_max_timestamp: int
    index_entries: int
    time_index_entries: int


class Written(NamedTuple):
    """How much of a segment readers may see."""

    size_bytes: int
    next_offset: int


class Segment:
    """See the top of this file."""

    __slots__ = (
        "_since_index",
        "base_offset",
        "file",
        "first_timestamp",
        "index",
        "index_saved",
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
        self.first_timestamp = NO_TIMESTAMP
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self.index: OffsetIndex | None = OffsetIndex()
        self.time_index: TimeIndex | None = TimeIndex()
        self.index_saved = 0
        self.time_index_saved = 0
        self._since_index = 0
        self.file: File | None = None
        self.used = False
        self.queue: list[Buffer] = []
        self.written = Written(0, base_offset)

    @property
    def log_path(self) -> str:
        return self.path + ".log"

    @property
    def paths(self) -> tuple[str, str, str]:
        return self.path + ".log", self.path + ".index", self.path + ".timeindex"

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int) -> None:
        """Queues a batch by reference: it must not change before `flush`."""
        size = len(batch)
        if self.size_bytes == 0:
            self.first_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if self._since_index > INDEX_INTERVAL_BYTES:
            self._add_index_entries(last_offset, self.size_bytes)
        self._since_index += size
        self.queue.append(batch)
        self.size_bytes += size
        self.next_offset = last_offset + 1

    def _add_index_entries(self, last_offset: int, position: int) -> None:
        if self.index is not None and self.time_index is not None:
            self.index.append(last_offset - self.base_offset, position)
            self.save_max_timestamp()
        self._since_index = 0

    def save_max_timestamp(self) -> None:
        """Enters the largest timestamp so far into the time index; the last act of a segment."""
        if self.time_index is not None:
            self.time_index.append_if_later(
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

    def place_at(self, data: bytes, at: int, position: int) -> tuple[int, int, int]:
        """(base offset, last offset, size) of the batch at `at` in data read from `position` on."""
        base_offset, length, magic, delta = _unpack_place(data, at)
        if length < LENGTH_MIN or magic != MAGIC or delta < 0 or base_offset < self.base_offset:
            raise CorruptSegment(self.log_path, position + at, "no batch begins here")
        return base_offset, base_offset + delta, length + LENGTH_PREFIX_BYTES
