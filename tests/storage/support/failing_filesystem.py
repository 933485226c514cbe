"""A file system in memory that fails on demand.

Owns the list of calls that can fail, and the counting. Every call that changes something or syncs
asks `fault` first; reads do not fail here.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence

from storage.filesystem import Buffer
from storage.memory_filesystem import MemoryFile, MemoryFilesystem
from tests.storage.support.committing_database import open_committing

Fault = Callable[[str, str], int | None]
"""(kind of call, path) to an errno, or None when the call may pass."""


def fail_from(number: int, errno: int, kinds: Sequence[str], *, once: bool) -> Fault:
    """Fails the call with this number, counted over these kinds; once or from then on."""
    calls = 0

    def fault(kind: str, path: str) -> int | None:
        nonlocal calls
        if kind not in kinds:
            return None
        calls += 1
        return errno if calls == number or (calls > number and not once) else None

    return fault


class FailingFile(MemoryFile):
    """A file that asks before each change."""

    __slots__ = ("_filesystem", "_path")

    def __init__(self, filesystem: FailingFilesystem, path: str) -> None:
        super().__init__()
        self._filesystem = filesystem
        self._path = path

    def pwritev(self, buffers: Sequence[Buffer], at: int) -> None:
        try:
            self._filesystem.ask("write", self._path)
        except OSError:
            # A disk that fills up takes a part.
            data = b"".join(buffers)
            super().pwritev((data[: len(data) // 2],), at)
            raise
        super().pwritev(buffers, at)

    def truncate(self, size: int) -> None:
        self._filesystem.ask("truncate", self._path)
        super().truncate(size)

    def allocate(self, size: int) -> None:
        self._filesystem.ask("allocate", self._path)
        MemoryFile.truncate(self, max(size, len(self.content)))

    def fdatasync(self) -> None:
        self._filesystem.ask("fdatasync", self._path)


class FailingFilesystem(MemoryFilesystem):
    """Asks `fault` before each change."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: Fault | None = None
        self.asked: list[tuple[str, str]] = []

    def ask(self, kind: str, path: str) -> None:
        self.asked.append((kind, path))
        errno = self.fault(kind, path) if self.fault is not None else None
        if errno is not None:
            raise OSError(errno, os.strerror(errno), path)

    def open(self, path: str, create: bool) -> MemoryFile:
        if path not in self.files and create:
            self.ask("create", path)
            self.files[path] = FailingFile(self, path)
        return super().open(path, create)

    def makedirs(self, path: str) -> None:
        self.ask("makedirs", path)
        super().makedirs(path)

    def rename(self, old: str, new: str) -> None:
        self.ask("rename", new)
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        self.ask("unlink", path)
        super().unlink(path)

    def sync_directory(self, path: str) -> None:
        self.ask("sync_directory", path)

    def open_database(self, path: str) -> sqlite3.Connection:
        return open_committing(
            self.databases.get(path), lambda content: self.databases.update({path: content})
        )

    def crashed(self) -> MemoryFilesystem:
        """What another process finds when this one is killed: the page cache is still there."""
        other = MemoryFilesystem()
        for path, file in self.files.items():
            other.open(path, create=True).content = bytearray(file.content)
        other.directories = set(self.directories)
        other.databases = dict(self.databases)
        return other
