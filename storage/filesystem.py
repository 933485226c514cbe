"""Files, as storage sees them; the only module of storage that touches the operating system.

Owns the interfaces `Filesystem` and `File`, and their implementation on POSIX. Paths are relative
to the data directory and separated by '/'. Must never know what is in a file.

The rules the rest of storage relies on:
- `pwritev` writes all bytes or raises; nothing is durable before `fdatasync`.
- A created, renamed or unlinked name is durable only after `sync_directory` of its parent.
- A failed `fdatasync` is never repeated: the kernel may have dropped the pages.
- A `File` that nobody refers to any more closes itself, so a reader in another thread can go on
  with a descriptor that a cache has let go.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Sequence
from typing import Protocol

from storage.errors import AlreadyLocked

Buffer = bytes | bytearray | memoryview

NO_SPACE_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
LOCK_CONTENT_BYTES_MAX = 32


class File(Protocol):
    """One open file."""

    def pwritev(self, buffers: Sequence[Buffer], at: int) -> None:
        """Writes all the buffers one after the other, or raises."""
        ...

    def pread(self, size: int, at: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of the file."""
        ...

    def pread_cached(self, size: int, at: int) -> bytes | bytearray | None:
        """As `pread`, but None instead of waiting for the disk."""
        ...

    def truncate(self, size: int) -> None: ...

    def size(self) -> int: ...

    def fdatasync(self) -> None: ...

    def allocate(self, size: int) -> None:
        """Reserves the blocks and makes the file at least `size` bytes long."""
        ...

    def close(self) -> None: ...


class Lock(Protocol):
    """A held lock; gone when closed or when the process ends."""

    def close(self) -> None: ...


class Filesystem(Protocol):
    """One data directory."""

    def open(self, path: str, create: bool) -> File: ...

    def listdir(self, path: str) -> list[str]: ...

    def makedirs(self, path: str) -> None: ...

    def rename(self, old: str, new: str) -> None: ...

    def unlink(self, path: str) -> None: ...

    def rmtree(self, path: str) -> None: ...

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def sync_directory(self, path: str) -> None: ...

    def free_bytes(self) -> int: ...

    def open_database(self, path: str) -> sqlite3.Connection:
        """A connection that any one thread at a time may use."""
        ...

    def lock(self, path: str) -> Lock:
        """Raises AlreadyLocked when another process holds it."""
        ...

    def read_bytes(self, path: str) -> bytes: ...

    def write_atomic(self, path: str, content: bytes) -> None:
        """Replaces a small file, durably: after a crash it is the old one or the new one."""
        ...


class OsFile:
    """A file descriptor."""

    __slots__ = ("_fd", "_nowait")

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._nowait = True

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def pwritev(self, buffers: Sequence[Buffer], at: int) -> None:
        written = os.pwritev(self._fd, buffers, at)
        wanted = sum(map(len, buffers))
        while written != wanted:
            # A short write is rare (a signal, a full disk): the next call tells why.
            rest = memoryview(b"".join(buffers))[written:]
            written += os.pwrite(self._fd, rest, at + written)

    def pread(self, size: int, at: int) -> bytes:
        data = os.pread(self._fd, size, at)
        while len(data) < size:
            more = os.pread(self._fd, size - len(data), at + len(data))
            if not more:
                break
            data += more
        return data

    def pread_cached(self, size: int, at: int) -> bytes | bytearray | None:
        if not self._nowait:
            return self.pread(size, at)
        buffer = bytearray(size)
        try:
            count = os.preadv(self._fd, (buffer,), at, os.RWF_NOWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
            # This file system cannot say; tmpfs is one, and there the answer is always "in memory".
            self._nowait = False
            return self.pread(size, at)
        if count == size:
            return buffer
        if at + count < self.size():
            return None
        del buffer[count:]
        return buffer

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def fdatasync(self) -> None:
        os.fdatasync(self._fd)

    def allocate(self, size: int) -> None:
        os.posix_fallocate(self._fd, 0, size)

    def close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)


class OsLock:
    """An flock on a file that names its holder."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            # The number of a process that has ended may soon be somebody else's.
            with contextlib.suppress(OSError):
                os.ftruncate(fd, 0)
            os.close(fd)


class OsFilesystem:
    """A directory of the operating system."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        _make_durable_directory(self.root)

    def _path(self, path: str) -> str:
        return f"{self.root}/{path}"

    def open(self, path: str, create: bool) -> OsFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return OsFile(os.open(self._path(path), flags, FILE_MODE))

    def listdir(self, path: str) -> list[str]:
        return sorted(os.listdir(self._path(path)))

    def makedirs(self, path: str) -> None:
        os.makedirs(self._path(path), DIRECTORY_MODE, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        os.rename(self._path(old), self._path(new))

    def unlink(self, path: str) -> None:
        os.unlink(self._path(path))

    def rmtree(self, path: str) -> None:
        shutil.rmtree(self._path(path))

    def exists(self, path: str) -> bool:
        return os.path.exists(self._path(path))

    def size(self, path: str) -> int:
        return os.stat(self._path(path)).st_size

    def sync_directory(self, path: str) -> None:
        fd = os.open(self._path(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def free_bytes(self) -> int:
        state = os.statvfs(self.root)
        return state.f_bavail * state.f_frsize

    def open_database(self, path: str) -> sqlite3.Connection:
        return sqlite3.connect(self._path(path), isolation_level=None, check_same_thread=False)

    def open_database_to_read(self, path: str) -> sqlite3.Connection:
        """A connection to a copy in memory; the directory itself need not be writable."""
        import tempfile

        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with tempfile.TemporaryDirectory() as place:
            for suffix in ("", "-wal"):
                if os.path.exists(self._path(path) + suffix):
                    shutil.copyfile(self._path(path) + suffix, f"{place}/database{suffix}")
            with contextlib.closing(sqlite3.connect(f"{place}/database")) as original:
                original.backup(copy)
        return copy

    def lock(self, path: str) -> OsLock:
        fd = os.open(self._path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(fd, LOCK_CONTENT_BYTES_MAX, 0).strip()
            os.close(fd)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise AlreadyLocked(
                self._path(path), int(holder) if holder.isdigit() else None
            ) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        return OsLock(fd)

    def read_bytes(self, path: str) -> bytes:
        with open(self._path(path), "rb") as file:
            return file.read()

    def write_atomic(self, path: str, content: bytes) -> None:
        write_atomic(self, path, content)


def write_atomic(filesystem: Filesystem, path: str, content: bytes) -> None:
    """The order that makes a replacement atomic: content, name, directory."""
    temporary = f"{path}.new"
    file = filesystem.open(temporary, create=True)
    try:
        file.truncate(0)
        file.pwritev((content,), 0)
        file.fdatasync()
    except BaseException:
        with contextlib.suppress(OSError):
            filesystem.unlink(temporary)
        raise
    finally:
        file.close()
    filesystem.rename(temporary, path)
    filesystem.sync_directory(parent_of(path))


def _make_durable_directory(path: str) -> None:
    """Makes a directory and its parents so that no power loss takes the names away again."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    _make_durable_directory(parent)
    os.makedirs(path, DIRECTORY_MODE, exist_ok=True)
    fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def parent_of(path: str) -> str:
    """The directory a path lies in, '.' for the data directory itself."""
    head, _, _ = path.rpartition("/")
    return head or "."
