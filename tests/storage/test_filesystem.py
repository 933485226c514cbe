"""Both file systems keep the same promises."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.errors import AlreadyLocked
from storage.filesystem import Filesystem, OsFile, OsFilesystem, parent_of
from storage.memory_filesystem import MemoryFilesystem
from storage.vectors import BYTES_PER_WRITE_MAX, write_all

Make = Callable[[], Filesystem]


@pytest.fixture(params=["os", "memory"])
def filesystem(request: pytest.FixtureRequest, tmp_path: Path) -> Filesystem:
    return OsFilesystem(str(tmp_path)) if request.param == "os" else MemoryFilesystem()


def test_what_is_written_is_read(filesystem: Filesystem) -> None:
    file = filesystem.open("x", create=True)
    file.pwritev((b"abc", bytearray(b"def"), memoryview(b"ghi")), 5)
    assert file.size() == 14
    assert file.pread(100, 0) == bytes(5) + b"abcdefghi"
    assert file.pread(2, 6) == b"bc"
    assert file.pread(10, 14) == b""
    assert bytes(file.pread_cached(100, 5) or b"") == b"abcdefghi"
    file.truncate(7)
    assert file.pread(100, 5) == b"ab"
    file.truncate(9)
    assert file.pread(100, 5) == b"ab\0\0"
    file.allocate(4)
    assert file.size() == 9
    file.allocate(20)
    assert file.size() == 20
    file.fdatasync()
    file.close()


def test_a_file_must_be_there_unless_it_is_created(filesystem: Filesystem) -> None:
    with pytest.raises(FileNotFoundError):
        filesystem.open("x", create=False)
    with pytest.raises(FileNotFoundError):
        filesystem.unlink("x")
    with pytest.raises(FileNotFoundError):
        filesystem.size("x")
    with pytest.raises(FileNotFoundError):
        filesystem.rename("x", "y")
    with pytest.raises(FileNotFoundError):
        filesystem.listdir("x")
    with pytest.raises(FileNotFoundError):
        filesystem.rmtree("x")
    assert not filesystem.exists("x")


def test_names(filesystem: Filesystem) -> None:
    filesystem.makedirs("a/b")
    filesystem.makedirs("a/b")
    for name in ("a/b/2", "a/b/1", "a/x", "ab"):
        filesystem.open(name, create=True).close()
    assert filesystem.listdir("a/b") == ["1", "2"]
    assert filesystem.listdir("a") == ["b", "x"]
    filesystem.rename("a/b/1", "a/y")
    filesystem.unlink("a/b/2")
    assert filesystem.listdir("a") == ["b", "x", "y"]
    filesystem.sync_directory("a")
    filesystem.rmtree("a")
    assert filesystem.listdir(".") == ["ab"]
    assert filesystem.free_bytes() > 0


def test_an_open_file_outlives_its_name(filesystem: Filesystem) -> None:
    file = filesystem.open("x", create=True)
    file.pwritev((b"abc",), 0)
    filesystem.unlink("x")
    assert file.pread(3, 0) == b"abc"
    file.close()


def test_a_small_file_is_replaced(filesystem: Filesystem) -> None:
    filesystem.write_atomic("x", b"longer content")
    filesystem.write_atomic("x", b"short")
    assert filesystem.read_bytes("x") == b"short"
    assert filesystem.listdir(".") == ["x"]


def test_a_lock_is_held_once(filesystem: Filesystem) -> None:
    lock = filesystem.lock("lock")
    with pytest.raises(AlreadyLocked):
        filesystem.lock("lock")
    lock.close()
    filesystem.lock("lock").close()


def test_a_database_survives_being_closed(filesystem: Filesystem) -> None:
    database = filesystem.open_database("x.sqlite")
    database.execute("CREATE TABLE t (a)")
    database.close()
    database = filesystem.open_database("x.sqlite")
    assert database.execute("SELECT count(*) FROM t").fetchone() == (0,)
    database.close()
    assert filesystem.exists("x.sqlite")


def test_a_large_write_arrives_whole(filesystem: Filesystem) -> None:
    file = filesystem.open("x", create=True)
    buffers = [b"a" * (BYTES_PER_WRITE_MAX + 7), *[b"b"] * 3000, b"", b"c" * 10]
    size = sum(map(len, buffers))
    write_all(file, buffers, size, 3)
    assert file.pread(size + 3, 0) == bytes(3) + b"".join(buffers)
    file.close()


def test_a_short_write_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = OsFilesystem(str(tmp_path)).open("x", create=True)
    real = os.pwrite
    monkeypatch.setattr(os, "pwritev", lambda fd, buffers, at: real(fd, buffers[0][:2], at))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, data[:3], at))
    file.pwritev((b"abcd", b"efgh", b"i"), 1)
    assert file.pread(20, 1) == b"abcdefghi"


def test_a_read_that_would_wait_for_the_disk_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = OsFilesystem(str(tmp_path)).open("x", create=True)
    file.pwritev((b"abcdefgh",), 0)

    def blocked(*_: object) -> int:
        raise BlockingIOError(errno.EAGAIN, "no")

    monkeypatch.setattr(os, "preadv", blocked)
    assert file.pread_cached(4, 0) is None
    monkeypatch.setattr(os, "preadv", lambda *_: 2)
    assert file.pread_cached(4, 0) is None, "a page is missing in the middle"


def test_a_file_system_that_cannot_say_is_read_anyway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = OsFilesystem(str(tmp_path)).open("x", create=True)
    file.pwritev((b"abcd",), 0)

    def unsupported(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "no")

    monkeypatch.setattr(os, "preadv", unsupported)
    assert file.pread_cached(4, 0) == b"abcd"
    monkeypatch.delattr(os, "preadv")
    assert file.pread_cached(2, 1) == b"bc"


def test_other_read_errors_come_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = OsFilesystem(str(tmp_path)).open("x", create=True)

    def broken(*_: object) -> int:
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(os, "preadv", broken)
    with pytest.raises(OSError, match="no"):
        file.pread_cached(4, 0)


def test_a_file_nobody_holds_is_closed(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    file = OsFile(fd)
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_a_failed_replacement_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filesystem = OsFilesystem(str(tmp_path))
    filesystem.write_atomic("x", b"old")

    def broken(_: int) -> None:
        raise OSError(errno.ENOSPC, "no")

    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(OSError, match="no"):
        filesystem.write_atomic("x", b"new")
    assert filesystem.read_bytes("x") == b"old"
    assert filesystem.listdir(".") == ["x"]


def test_parents() -> None:
    assert parent_of("a/b/c") == "a/b"
    assert parent_of("a") == "."
