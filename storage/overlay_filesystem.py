"""A file system that shows a data directory and keeps every change to itself.

Owns: what differs from the directory underneath: bytes, sizes and names. Must never write below.
So recovery can be tried for real, to see what it would do, and nothing has happened afterwards.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from storage.filesystem import Buffer, File, Lock, OsFilesystem, parent_of


class OverlayFile:
    """A file seen through patches. Without a file underneath it is all patches."""

    def __init__(self, below: File | None) -> None:
        self._below = below
        self._size = 0 if below is None else below.size()
        self._below_size = self._size
        self._patches: list[tuple[int, bytes]] = []

    def pwritev(self, buffers: Sequence[Buffer], at: int) -> None:
        data = b"".join(buffers)
        self._patches.append((at, data))
        self._size = max(self._size, at + len(data))

    def pread(self, size: int, at: int) -> bytes:
        size = max(min(size, self._size - at), 0)
        result = bytearray(size)
        shown = max(min(size, self._below_size - at), 0)
        if self._below is not None and shown:
            result[:shown] = self._below.pread(shown, at)
        for start, data in self._patches:
            first, last = max(start, at), min(start + len(data), at + size)
            if first < last:
                result[first - at : last - at] = data[first - start : last - start]
        return bytes(result)

    def pread_cached(self, size: int, at: int) -> bytes:
        return self.pread(size, at)

    def truncate(self, size: int) -> None:
        self._below_size = min(self._below_size, size)
        self._patches = [(at, data[: size - at]) for at, data in self._patches if at < size]
        self._size = size

    def size(self) -> int:
        return self._size

    def fdatasync(self) -> None:
        """Nothing here is meant to last."""

    def allocate(self, size: int) -> None:
        self._size = max(self._size, size)

    def close(self) -> None:
        """The overlay keeps its files until it goes itself."""


class NoLock:
    """Stands for the lock of a directory that cannot be written."""

    def close(self) -> None:
        """Nothing was locked."""


class OverlayFilesystem:
    """See the top of this file. The lock is a real one: nobody may work here meanwhile."""

    def __init__(self, below: OsFilesystem) -> None:
        self._below = below
        self._files: dict[str, OverlayFile | None] = {}
        """By path: a file that was touched, or None when its name is gone."""
        self._directories: set[str] = set()

    def open(self, path: str, create: bool) -> OverlayFile:
        known = self._files.get(path)
        if known is not None:
            return known
        there = path not in self._files and self._below.exists(path)
        if not there and not create:
            raise FileNotFoundError(path)
        fresh = OverlayFile(self._below.open(path, create=False) if there else None)
        self._files[path] = fresh
        return fresh

    def listdir(self, path: str) -> list[str]:
        below = self._below.listdir(path) if self._below.exists(path) else []
        found = {name for name in below if self.exists(f"{path}/{name}")}
        for known, file in self._files.items():
            if file is not None and parent_of(known) == path:
                found.add(known.rsplit("/", 1)[-1])
        return sorted(found)

    def makedirs(self, path: str) -> None:
        self._directories.add(path)

    def rename(self, old: str, new: str) -> None:
        self._files[new] = self.open(old, create=False)
        self._files[old] = None

    def unlink(self, path: str) -> None:
        self.open(path, create=False)
        self._files[path] = None

    def rmtree(self, path: str) -> None:
        for name in self.listdir(path):
            self._files[f"{path}/{name}"] = None
        self._files[path] = None

    def exists(self, path: str) -> bool:
        if path in self._files:
            return self._files[path] is not None
        return path in self._directories or self._below.exists(path)

    def size(self, path: str) -> int:
        return self.open(path, create=False).size()

    def sync_directory(self, path: str) -> None:
        """Nothing here is meant to last."""

    def free_bytes(self) -> int:
        return self._below.free_bytes()

    def open_database(self, path: str) -> sqlite3.Connection:
        """A copy in memory of the database as it stands."""
        if self._below.exists(path):
            return self._below.open_database_to_read(path)
        return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

    def lock(self, path: str) -> Lock:
        """A real one, unless the directory cannot be written: then no broker works in it either."""
        try:
            return self._below.lock(path)
        except PermissionError:
            return NoLock()

    def read_bytes(self, path: str) -> bytes:
        if path in self._files:
            file = self.open(path, create=False)
            return file.pread(file.size(), 0)
        return self._below.read_bytes(path)

    def write_atomic(self, path: str, content: bytes) -> None:
        fresh = OverlayFile(None)
        fresh.pwritev((content,), 0)
        self._files[path] = fresh
