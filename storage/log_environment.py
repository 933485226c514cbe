"""What all partition logs of one store share: open files, loaded indexes, and who has work to do.

Owns the limits on descriptors and on indexes in memory, and the lists by which the store finds the
logs that were touched. Must never know what is in a log.

Both caches give a second chance: an entry that was used since it was last looked at goes to the
back of the queue. So a hit costs no more than setting a flag, and no lock.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from storage.errors import CorruptSegment
from storage.filesystem import File, Filesystem
from storage.segment import Segment

if TYPE_CHECKING:
    from storage.partition_log import PartitionLog

OPEN_FILES_MAX = 512
LOADED_INDEXES_MAX = 256


class LogEnvironment:
    """Shared by all logs."""

    def __init__(self, filesystem: Filesystem, open_files_max: int = OPEN_FILES_MAX) -> None:
        self.filesystem = filesystem
        self.touched: list[PartitionLog] = []
        """Logs with something to flush."""
        self.unwritten: dict[PartitionLog, None] = {}
        """Logs whose last flush found the disk full."""
        self.dirty: dict[PartitionLog, None] = {}
        """Logs that the checkpoint does not know as they are."""
        self.doomed: dict[str, None] = {}
        """Paths nobody needs any more once a checkpoint has forgotten them."""
        self.new_directories: dict[str, None] = {}
        """Directories with new names in them, to be synced by the checkpoint."""
        self._open_files_max = open_files_max
        self._open: deque[Segment] = deque()
        self._lock = threading.Lock()

    def file_of(self, segment: Segment) -> File:
        """The segment's open `.log`."""
        file = segment.file
        segment.used = True
        return file if file is not None else self._open_file(segment, create=False)

    def create_file(self, segment: Segment, directory: str) -> File:
        """The segment's `.log`, made if it is not there yet."""
        if not self.filesystem.exists(directory):
            self.filesystem.makedirs(directory)
            self.new_directories[directory.rpartition("/")[0] or "."] = None
        file = self._open_file(segment, create=True)
        self.new_directories[directory] = None
        return file

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
                    # Not closed: a reader in a thread may hold it. It closes with its last user.
                    oldest.file = None
            segment.file = file
            self._open.append(segment)
            return file
