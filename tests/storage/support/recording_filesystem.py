"""A file system in memory that writes down everything that is done to it.

Owns the recording; what may be left of it after a crash is tests/storage/support/disk.py's matter.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from storage.filesystem import Buffer, parent_of, write_atomic
from storage.memory_filesystem import MemoryFile, MemoryFilesystem
from tests.storage.support.committing_database import open_committing
from tests.storage.support.disk import (
    Commit,
    Create,
    Disk,
    MakeDirectory,
    Note,
    Operation,
    RemoveDirectory,
    Rename,
    Resize,
    Sync,
    SyncDirectory,
    Unlink,
    Write,
)


class RecordingFile(MemoryFile):
    """A file that reports its changes."""

    __slots__ = ("_record", "inode")

    def __init__(self, inode: int, record: Callable[[Operation], None]) -> None:
        super().__init__()
        self.inode = inode
        self._record = record

    def pwritev(self, buffers: Sequence[Buffer], at: int) -> None:
        super().pwritev(buffers, at)
        self._record(Write(self.inode, at, b"".join(buffers)))

    def truncate(self, size: int) -> None:
        super().truncate(size)
        self._record(Resize(self.inode, size))

    def fdatasync(self) -> None:
        self._record(Sync(self.inode))


class RecordingFilesystem(MemoryFilesystem):
    """Begins with a disk (or an empty one) and keeps the list of operations since."""

    def __init__(self, disk: Disk | None = None) -> None:
        super().__init__()
        self.operations: list[Operation] = []
        self.start = disk.copy() if disk is not None else Disk()
        self._next_inode = max(self.start.contents, default=0) + 1
        for path, inode in self.start.names.items():
            file = RecordingFile(inode, self.operations.append)
            file.content = bytearray(self.start.contents[inode])
            self.files[path] = file
        self.directories = set(self.start.directories)
        self.databases = dict(self.start.databases)

    def unlock(self) -> None:
        """The process that held the lock is gone."""
        self._locked.clear()

    def note(self, value: int) -> None:
        self.operations.append(Note(value))

    def open(self, path: str, create: bool) -> MemoryFile:
        if path not in self.files and create:
            if parent_of(path) not in self.directories:
                raise FileNotFoundError(path)
            self.files[path] = RecordingFile(self._next_inode, self.operations.append)
            self.operations.append(Create(path, self._next_inode))
            self._next_inode += 1
        return super().open(path, create)

    def makedirs(self, path: str) -> None:
        if path not in self.directories:
            self.makedirs(parent_of(path))
            self.directories.add(path)
            self.operations.append(MakeDirectory(path))

    def rename(self, old: str, new: str) -> None:
        super().rename(old, new)
        self.operations.append(Rename(old, new))

    def unlink(self, path: str) -> None:
        super().unlink(path)
        self.operations.append(Unlink(path))

    def rmtree(self, path: str) -> None:
        for known in [known for known in self.files if known.startswith(f"{path}/")]:
            self.unlink(known)
        super().rmtree(path)
        self.operations.append(RemoveDirectory(path))

    def sync_directory(self, path: str) -> None:
        if path not in self.directories:
            raise FileNotFoundError(path)
        self.operations.append(SyncDirectory(path))

    def open_database(self, path: str) -> sqlite3.Connection:
        def on_commit(content: bytes) -> None:
            self.databases[path] = content
            self.operations.append(Commit(path, content))

        return open_committing(self.databases.get(path), on_commit)

    def write_atomic(self, path: str, content: bytes) -> None:
        write_atomic(self, path, content)
