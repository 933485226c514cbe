"""What all partition logs of one store share: open files, loaded indexes, and who has work to do.

Owns the limits on descriptors and on indexes in memory, and the lists by which the store finds the
logs that were touched. Must never know what is in a log.

Both caches give a second chance: an entry that was used since it was last looked at goes to the
back of the queue. So a hit costs no more than setting a flag, and no lock. What is let go is not
closed here: a reader in another thread may hold it, and it closes with its last user.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from storage.errors import CorruptSegment
from storage.filesystem import File, Filesystem, parent_of
from storage.offset_index import ENTRY_BYTES, OffsetIndex
from storage.segment import NEVER_SAVED, Segment
from storage.segment_reader import rebuild_indexes
from storage.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from storage.time_index import TimeIndex

if TYPE_CHECKING:
    from storage.partition_log import PartitionLog

OPEN_FILES_MAX = 512
LOADED_INDEX_BYTES_MAX = 64 << 20


class LogEnvironment:
    """Shared by all logs."""

    def __init__(
        self,
        filesystem: Filesystem,
        open_files_max: int = OPEN_FILES_MAX,
        loaded_index_bytes_max: int = LOADED_INDEX_BYTES_MAX,
    ) -> None:
        self.filesystem = filesystem
        self.touched: list[PartitionLog] = []
        """Logs with something to flush."""
        self.unwritten: dict[PartitionLog, None] = {}
        """Logs whose last flush found the disk full."""
        self.dirty: dict[PartitionLog, None] = {}
        """Logs that the checkpoint does not know as they are."""
        self.doomed: dict[str, None] = {}
        """Paths nobody needs once a checkpoint has forgotten them; a directory's ends with '/'."""
        self.new_names: dict[str, None] = {}
        """Directories with new names in them, to be synced by the checkpoint."""
        self.rebuilt: dict[Segment, None] = {}
        """Segments whose index files are bad and must be written again."""
        self._open_files_max = open_files_max
        self._open: deque[Segment] = deque()
        self._loaded_index_bytes_max = loaded_index_bytes_max
        self._loaded: deque[tuple[Segment, int]] = deque()
        self._loaded_bytes = 0
        self._lock = threading.Lock()

    # ---- files --------------------------------------------------------------------------------

    def file_of(self, segment: Segment) -> File:
        """The segment's open `.log`."""
        file = segment.file
        segment.used = True
        return file if file is not None else self._open_file(segment, create=False)

    def writable_file_of(self, segment: Segment) -> File:
        """The segment's `.log`, made if this is its first batch."""
        file = segment.file
        segment.used = True
        if file is not None:
            return file
        if segment.written.size_bytes > 0:
            return self._open_file(segment, create=False)
        directory = parent_of(segment.path)
        if not self.filesystem.exists(directory):
            self.filesystem.makedirs(directory)
            self.new_names[parent_of(directory)] = None
        self.new_names[directory] = None
        return self._open_file(segment, create=True)

    def _open_file(self, segment: Segment, *, create: bool) -> File:
        with self._lock:
            try:
                file = self.filesystem.open(segment.log_path, create)
            except FileNotFoundError:
                raise CorruptSegment(segment.log_path, None, "the file is missing") from None
            while len(self._open) >= self._open_files_max:
                oldest = self._open.popleft()
                if oldest.used and oldest.file is not None:
                    oldest.used = False
                    self._open.append(oldest)
                else:
                    oldest.file = None
            segment.file = file
            self._open.append(segment)
            return file

    def forget(self, segment: Segment) -> None:
        """Lets go of the file and the indexes of a segment that was dropped."""
        with self._lock:
            segment.file = None
            segment.index = None
            segment.time_index = None
            self.rebuilt.pop(segment, None)

    # ---- indexes ------------------------------------------------------------------------------

    def index_of(self, segment: Segment, *, may_block: bool) -> OffsetIndex | None:
        """The offset index; None only when it is on disk and must not be waited for."""
        index = segment.index
        segment.used = True
        if index is not None:
            return index
        data = self._read_index(
            segment.index_path, segment.index_saved * ENTRY_BYTES, may_block=may_block
        )
        if data is None:
            return None
        index = OffsetIndex.from_bytes(data, segment.size_bytes)
        if index is not None and len(index) == segment.index_saved:
            return self._keep(segment, index, None)[0]
        return self.rebuild(segment)[0] if may_block else None

    def time_index_of(self, segment: Segment) -> TimeIndex:
        """The time index; may wait for the disk."""
        time_index = segment.time_index
        segment.used = True
        if time_index is not None:
            return time_index
        size = segment.time_index_saved * TIME_ENTRY_BYTES
        data = self._read_index(segment.time_index_path, size, may_block=True)
        time_index = TimeIndex.from_bytes(data) if data is not None else None
        if time_index is None or len(time_index) != segment.time_index_saved:
            return self.rebuild(segment)[1]
        return self._keep(segment, None, time_index)[1] or time_index

    def load_indexes(self, segment: Segment) -> None:
        """Has both indexes in memory, for a segment that is about to be changed."""
        self.index_of(segment, may_block=True)
        self.time_index_of(segment)

    def _read_index(self, path: str, size: int, *, may_block: bool) -> bytes | bytearray | None:
        try:
            file = self.filesystem.open(path, create=False)
        except FileNotFoundError:
            return b""
        try:
            wanted = max(size, 0)
            return file.pread(wanted, 0) if may_block else file.pread_cached(wanted, 0)
        finally:
            file.close()

    def rebuild(self, segment: Segment) -> tuple[OffsetIndex, TimeIndex]:
        """An index file is missing or damaged: read it off the batches; the log is the truth."""
        segment.index_is_proven = True
        index, time_index = rebuild_indexes(segment, self.file_of(segment))
        with self._lock:
            # Never without one in between: a checkpoint in another thread would save "none".
            segment.index, segment.time_index = index, time_index
            segment.index_saved = segment.time_index_saved = NEVER_SAVED
            self.rebuilt[segment] = None
        kept, kept_time = self._keep(segment, index, time_index)
        return kept or index, kept_time or time_index

    def _keep(
        self, segment: Segment, index: OffsetIndex | None, time_index: TimeIndex | None
    ) -> tuple[OffsetIndex | None, TimeIndex | None]:
        """Puts loaded indexes into the segment unless another thread has been faster."""
        size = (len(index) * ENTRY_BYTES if index is not None else 0) + (
            len(time_index) * TIME_ENTRY_BYTES if time_index is not None else 0
        )
        with self._lock:
            if segment.index is None:
                segment.index = index
            if segment.time_index is None:
                segment.time_index = time_index
            kept = segment.index, segment.time_index
            self._loaded.append((segment, size))
            self._loaded_bytes += size
            self._evict()
            return kept

    def count_closed(self, segment: Segment) -> None:
        """A segment takes no more batches: from now on its indexes are kept like loaded ones."""
        if segment.index is not None and segment.time_index is not None:
            self._keep(segment, segment.index, segment.time_index)

    def _evict(self) -> None:
        for _ in range(len(self._loaded)):
            if self._loaded_bytes <= self._loaded_index_bytes_max:
                return
            segment, size = self._loaded.popleft()
            if segment.used or not segment.closed or not segment.indexes_saved:
                segment.used = False
                self._loaded.append((segment, size))
            else:
                self._loaded_bytes -= size
                segment.index = None
                segment.time_index = None
