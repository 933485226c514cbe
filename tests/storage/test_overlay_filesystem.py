"""The overlay shows what is below with the changes made on it, and nothing below ever changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.filesystem import OsFilesystem
from storage.memory_filesystem import MemoryFile
from storage.overlay_filesystem import OverlayFile, OverlayFilesystem

steps = st.lists(
    st.tuples(st.sampled_from(["write", "truncate"]), st.integers(0, 60), st.binary(max_size=30)),
    max_size=12,
)


@given(st.binary(max_size=50), steps)
def test_a_patched_file_reads_like_a_written_one(
    content: bytes, changes: list[tuple[str, int, bytes]]
) -> None:
    below, model = MemoryFile(), MemoryFile()
    below.pwritev((content,), 0)
    model.pwritev((content,), 0)
    overlay = OverlayFile(below)
    for kind, number, data in changes:
        for file in (overlay, model):
            if kind == "truncate":
                file.truncate(number)
            elif data:
                file.pwritev((data,), number)
    assert overlay.size() == model.size()
    assert overlay.pread(200, 0) == model.pread(200, 0)
    assert overlay.pread(7, 11) == model.pread(7, 11)
    assert bytes(below.content) == content


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "1.wal").write_bytes(b"old")
    return tmp_path


def test_names_change_in_the_overlay_only(directory: Path) -> None:
    overlay = OverlayFilesystem(OsFilesystem(str(directory)))
    overlay.rename("journal/1.wal", "journal/2.wal")
    overlay.open("journal/3.wal", create=True).pwritev((b"new",), 0)
    assert overlay.listdir("journal") == ["2.wal", "3.wal"]
    assert not overlay.exists("journal/1.wal")
    assert overlay.read_bytes("journal/2.wal") == b"old"
    overlay.unlink("journal/3.wal")
    with pytest.raises(FileNotFoundError):
        overlay.open("journal/3.wal", create=False)
    overlay.rmtree("journal")
    assert not overlay.exists("journal/2.wal")
    assert os.listdir(directory / "journal") == ["1.wal"]
    assert (directory / "journal" / "1.wal").read_bytes() == b"old"


def test_a_database_is_copied_also_what_its_wal_holds(tmp_path: Path) -> None:
    filesystem = OsFilesystem(str(tmp_path))
    original = filesystem.open_database("state.sqlite")
    original.execute("PRAGMA journal_mode=WAL")
    original.execute("CREATE TABLE t (a)")
    original.execute("INSERT INTO t VALUES (7)")
    before = sorted(os.listdir(tmp_path))
    copy = OverlayFilesystem(filesystem).open_database("state.sqlite")
    assert copy.execute("SELECT a FROM t").fetchall() == [(7,)]
    copy.execute("DELETE FROM t")
    copy.close()
    assert original.execute("SELECT a FROM t").fetchall() == [(7,)]
    assert sorted(os.listdir(tmp_path)) == before
    original.close()


def test_the_lock_names_nobody_once_it_is_given_back(tmp_path: Path) -> None:
    overlay = OverlayFilesystem(OsFilesystem(str(tmp_path)))
    lock = overlay.lock("lock")
    assert (tmp_path / "lock").read_text().strip() == str(os.getpid())
    lock.close()
    assert (tmp_path / "lock").read_text() == ""
