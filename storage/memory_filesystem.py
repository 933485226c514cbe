"""A file system that lives and dies with the process, for `--in-memory` and for tests.

Owns a dictionary of paths. Must never know what is in a file. Reading a file that was unlinked
while open goes on working, as on POSIX; nothing here survives anything, so syncs do nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from storage.errors import AlreadyLocked
from storage.filesystem import Buffer

FREE_BYTES = 1 << 40


class MemoryFile:
    """Bytes that look like a file."""

    __slots__ = ("content",)

    def __init__(self) -> None:
        self.content = bytearray()

    def pwritev(self, buffers: Sequence[Buffer], at: int) -> None:
        content = self.content
        if at > len(content):
            content.extend(bytes(at - len(content)))
        for buffer in buffers:
            content[at : at + len(buffer)] = buffer
            at += len(buffer)

    def pread(self, size: int, at: int) -> bytes:
        # No memoryview: while one exists in a reader's thread the content cannot grow.
        return bytes(self.content[at : at + size])

    def pread_cached(self, size: int, at: int) -> bytes | None:
        return self.pread(size, at)

    def truncate(self, size: int) -> None:
        if size <= len(self.content):
            del self.content[size:]
        else:
            self.content.extend(bytes(size - len(self.content)))

    def size(self) -> int:
        return len(self.content)

    def fdatasync(self) -> None:
        pass

    def allocate(self, size: int) -> None:
        if size > len(self.content):
            self.truncate(size)

    def close(self) -> None:
        pass


class MemoryLock:
    """A lock nobody outside this process can see."""

    def __init__(self, locked: set[str], path: str) -> None:
        self._locked = locked
        self._path = path

    def close(self) -> None:
        self._locked.discard(self._path)


class MemoryDatabase(sqlite3.Connection):
    """A database in memory whose content is handed over when it is closed."""

    on_close: Callable[[bytes], None] | None = None

    def close(self) -> None:
        if self.on_close is not None:
            self.on_close(self.serialize())
            self.on_close = None
        super().close()


class MemoryFilesystem:
    """Paths to files, and the set of directories."""

    def __init__(self) -> None:
        self.files: dict[str, MemoryFile] = {}
        self.directories: set[str] = {"."}
        self.databases: dict[str, bytes] = {}
        self._locked: set[str] = set()

    def open(self, path: str, create: bool) -> MemoryFile:
        file = self.files.get(path)
        if file is None:
            if not create:
                raise FileNotFoundError(path)
            file = self.files[path] = MemoryFile()
        return file

    def listdir(self, path: str) -> list[str]:
        if path not in self.directories:
            raise FileNotFoundError(path)
        prefix = "" if path == "." else f"{path}/"
        names = {
            known[len(prefix) :].partition("/")[0]
            for known in (*self.files, *self.directories)
            if known.startswith(prefix)
        }
        return sorted(names - {"", "."})

    def makedirs(self, path: str) -> None:
        while path not in self.directories:
            self.directories.add(path)
            path = path.rpartition("/")[0] or "."

    def rename(self, old: str, new: str) -> None:
        if old not in self.files:
            raise FileNotFoundError(old)
        self.files[new] = self.files.pop(old)

    def unlink(self, path: str) -> None:
        if path not in self.files:
            raise FileNotFoundError(path)
        del self.files[path]

    def rmtree(self, path: str) -> None:
        if path not in self.directories:
            raise FileNotFoundError(path)
        for known in [known for known in self.files if known.startswith(f"{path}/")]:
            del self.files[known]
        self.directories = {
            known
            for known in self.directories
            if known != path and not known.startswith(f"{path}/")
        }

    def exists(self, path: str) -> bool:
        return path in self.files or path in self.directories or path in self.databases

    def size(self, path: str) -> int:
        return self.open(path, create=False).size()

    def sync_directory(self, path: str) -> None:
        pass

    def free_bytes(self) -> int:
        return FREE_BYTES

    def open_database(self, path: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, factory=MemoryDatabase
        )
        content = self.databases.get(path)
        if content is not None:
            connection.deserialize(content)
        connection.on_close = lambda content: self.databases.update({path: content})
        return connection

    def lock(self, path: str) -> MemoryLock:
        if path in self._locked:
            raise AlreadyLocked(path, None)
        self._locked.add(path)
        return MemoryLock(self._locked, path)

    def read_bytes(self, path: str) -> bytes:
        return bytes(self.open(path, create=False).content)

    def write_atomic(self, path: str, content: bytes) -> None:
        file = self.open(path, create=True)
        file.truncate(0)
        file.pwritev((content,), 0)
