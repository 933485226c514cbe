"""The checkpoint: rows and a position that change together, and damage that is noticed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.checkpoint import (
    PATH,
    Checkpoint,
    CheckpointData,
    CorruptCheckpoint,
    Table,
    TableChange,
    Value,
    row_crc,
)
from storage.errors import StorageBusy, UnsupportedFormat
from storage.filesystem import Filesystem, OsFilesystem
from storage.memory_filesystem import MemoryFilesystem

PLACES = Table("places", {"name": str, "part": int, "value": bytes}, ("name", "part"))
NUMBERS = Table("numbers", {"name": str, "value": float}, ("name",))


def open_checkpoint(filesystem: Filesystem) -> Checkpoint:
    return Checkpoint(filesystem, [PLACES, NUMBERS])


def places(*rows: tuple[str, int, bytes]) -> TableChange:
    return TableChange("places", (), rows)


def test_nothing_is_loaded_from_a_new_one() -> None:
    assert open_checkpoint(MemoryFilesystem()).load() is None


def test_rows_and_position_come_back(tmp_path: Path) -> None:
    for filesystem in (MemoryFilesystem(), OsFilesystem(str(tmp_path))):
        checkpoint = open_checkpoint(filesystem)
        numbers = TableChange("numbers", (), [("pi", 3.5), ("none", None)])
        checkpoint.commit(1 << 50, 7, [places(("a", 1, b"\0x"), ("b", 2, b"")), numbers])
        checkpoint.close()
        again = open_checkpoint(filesystem)
        assert again.load() == CheckpointData(
            1 << 50,
            7,
            {"places": [("a", 1, b"\0x"), ("b", 2, b"")], "numbers": [("pi", 3.5), ("none", None)]},
        )
        again.close()


def rows_after(*changes: TableChange) -> set[tuple[Value, ...]]:
    checkpoint = open_checkpoint(MemoryFilesystem())
    for position, change in enumerate(changes):
        checkpoint.commit(position, 1, [change])
    data = checkpoint.load()
    assert data is not None
    assert data.position == len(changes) - 1
    return set(data.tables["places"])


START = places(("a", 1, b"1"), ("a", 2, b"2"), ("b", 1, b"3"))


def test_a_row_with_the_same_key_is_replaced() -> None:
    assert rows_after(START, places(("a", 1, b"new"))) == {
        ("a", 1, b"new"),
        ("a", 2, b"2"),
        ("b", 1, b"3"),
    }


def test_a_key_or_the_beginning_of_one_is_forgotten() -> None:
    assert rows_after(START, TableChange("places", [("a", 1)], ())) == {
        ("a", 2, b"2"),
        ("b", 1, b"3"),
    }
    assert rows_after(START, TableChange("places", [("a",)], ())) == {("b", 1, b"3")}


def test_rows_are_forgotten_before_others_are_remembered() -> None:
    assert rows_after(START, TableChange("places", [("a",)], [("a", 9, b"9")])) == {
        ("a", 9, b"9"),
        ("b", 1, b"3"),
    }


def test_a_commit_that_fails_changes_nothing() -> None:
    checkpoint = open_checkpoint(MemoryFilesystem())
    checkpoint.commit(5, 1, [START])
    with pytest.raises(sqlite3.ProgrammingError):
        checkpoint.commit(6, 1, [places(("c", 1, b"")), TableChange("places", (), [("short",)])])
    data = checkpoint.load()
    assert data is not None
    assert data.position == 5
    assert ("c", 1, b"") not in data.tables["places"]
    checkpoint.commit(7, 1)


def test_a_table_of_another_version_is_refused() -> None:
    filesystem = MemoryFilesystem()
    open_checkpoint(filesystem).close()
    wider = Table("places", {**PLACES.columns, "more": str}, PLACES.key)
    with pytest.raises(UnsupportedFormat, match="places"):
        Checkpoint(filesystem, [wider])


def test_a_new_table_is_added_to_an_old_database() -> None:
    filesystem = MemoryFilesystem()
    checkpoint = Checkpoint(filesystem, [PLACES])
    checkpoint.commit(1, 1, [START])
    checkpoint.close()
    data = open_checkpoint(filesystem).load()
    assert data is not None
    assert data.tables["numbers"] == []
    assert len(data.tables["places"]) == 3


def test_garbage_is_refused_with_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / PATH).write_bytes(b"this is not a database" * 100)
    with pytest.raises(CorruptCheckpoint, match=PATH):
        open_checkpoint(OsFilesystem(str(tmp_path)))


def test_no_flipped_byte_of_a_row_is_believed(tmp_path: Path) -> None:
    filesystem = OsFilesystem(str(tmp_path))
    checkpoint = open_checkpoint(filesystem)
    checkpoint.commit(77, 1, [places(("unmistakable", 123456789, b"value"))])
    checkpoint.close()
    original = (tmp_path / PATH).read_bytes()
    at = original.index(b"unmistakable")
    for place in range(at, at + 21):
        damaged = bytearray(original)
        damaged[place] ^= 2
        (tmp_path / PATH).write_bytes(damaged)
        with pytest.raises(CorruptCheckpoint):
            open_checkpoint(filesystem).load()


def test_somebody_who_writes_makes_us_wait_and_then_try_later(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(OsFilesystem(str(tmp_path)))
    checkpoint._connection.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(tmp_path / PATH, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageBusy):
        checkpoint.commit(1, 1)
    other.execute("ROLLBACK")
    other.close()
    checkpoint.commit(1, 1)
    checkpoint.close()


def test_somebody_who_reads_disturbs_nobody(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(OsFilesystem(str(tmp_path)))
    other = sqlite3.connect(tmp_path / PATH, isolation_level=None)
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM places").fetchone() == (0,)
    checkpoint.commit(1, 1, [START])
    assert other.execute("SELECT count(*) FROM places").fetchone() == (0,)
    other.close()
    checkpoint.close()


def test_sqlite_utils_lists_the_tables(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(OsFilesystem(str(tmp_path)))
    checkpoint.commit(1, 1, [START])
    command = [sys.executable, "-m", "sqlite_utils", "tables", str(tmp_path / PATH), "--counts"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    checkpoint.close()
    assert {row["table"]: row["count"] for row in json.loads(output)} == {
        "places": 3,
        "numbers": 0,
        "checkpoint": 1,
    }


@given(st.lists(st.one_of(st.none(), st.integers(), st.text(), st.binary()), min_size=1))
def test_a_crc_tells_types_apart(values: list[Value]) -> None:
    assert row_crc(values) == row_crc(list(values))
    assert row_crc([*values, 1]) != row_crc([*values, "1"])
    assert row_crc([*values, b"x"]) != row_crc([*values, "x"])
