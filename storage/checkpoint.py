"""The checkpoint: one SQLite database that says how everything was at one position of the journal.

Owns state.sqlite: its tables, their rows, and the position. Must never know what the rows mean: who
has something to remember declares a table and hands in rows.

One commit is one SQLite transaction: rows and position change together or not at all. The database
is in WAL mode with synchronous=FULL: a commit is durable when it returns, and a human who looks
into the file with any SQLite tool while the broker runs blocks nobody. SQLite keeps no checksums of
its pages, so every row carries a CRC of its values: a rotten one is refused, not believed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from crc32c import crc32c

from storage.errors import CorruptData, StorageBusy, StorageFull, UnsupportedFormat
from storage.filesystem import Filesystem

PATH = "state.sqlite"
CRC_COLUMN = "row_crc"
SQL_TYPES = {int: "INTEGER", str: "TEXT", bytes: "BLOB", float: "FLOAT"}

Value = int | str | bytes | float | None
Row = Sequence[Value]


class CorruptCheckpoint(CorruptData):
    """A database that is not what was committed."""


class Table(NamedTuple):
    """A table as its owner declares it: columns with int, str, bytes or float, and the key."""

    name: str
    columns: dict[str, type]
    key: tuple[str, ...]


class TableChange(NamedTuple):
    """Rows to forget and rows to remember, in this order.

    A key to forget has the values of the first columns of the table's key: all, or fewer, and then
    all rows that begin so are forgotten.
    """

    table: str
    deletes: Sequence[Row]
    upserts: Sequence[Row]


class CheckpointData(NamedTuple):
    """Everything that was committed."""

    position: int
    journal_number: int
    tables: dict[str, list[tuple[Value, ...]]]


POSITION_TABLE = Table(
    "checkpoint", {"id": int, "journal_position": int, "journal_file": int}, ("id",)
)


class Checkpoint:
    """See the top of this file."""

    def __init__(self, filesystem: Filesystem, tables: Iterable[Table]) -> None:
        self._tables = {table.name: table for table in (*tables, POSITION_TABLE)}
        self._connection = filesystem.open_database(PATH)
        try:
            self._prepare(filesystem)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise _translated(error) from error
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, filesystem: Filesystem) -> None:
        execute = self._connection.execute
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=FULL")
        problem = execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise CorruptCheckpoint(PATH, None, f"the database is damaged: {problem}")
        there = {name for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        missing = [table for name, table in self._tables.items() if name not in there]
        if missing:
            _create_tables(self._connection, missing)
            filesystem.sync_directory(".")
        for table in self._tables.values():
            found = [row[1] for row in execute(f'PRAGMA table_info("{table.name}")')]
            if found != [*table.columns, CRC_COLUMN]:
                raise UnsupportedFormat(
                    f"{PATH}: table {table.name} has the columns {', '.join(found)}, which this"
                    " version of oncelog does not know"
                )

    def load(self) -> CheckpointData | None:
        """What was committed last; None when nothing ever was."""
        try:
            tables = {name: self._rows_of(table) for name, table in self._tables.items()}
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error
        positions = tables.pop(POSITION_TABLE.name)
        if not positions:
            for name, rows in tables.items():
                if rows:
                    raise CorruptCheckpoint(PATH, None, f"rows in {name}, but no position")
            return None
        _, position, journal_number = positions[0]
        if not isinstance(position, int) or not isinstance(journal_number, int):
            raise CorruptCheckpoint(PATH, None, "the journal position is not a number")
        return CheckpointData(position, journal_number, tables)

    def _rows_of(self, table: Table) -> list[tuple[Value, ...]]:
        rows = []
        for *values, crc in self._connection.execute(f'SELECT * FROM "{table.name}"'):
            if crc != row_crc(values):
                key = values[: len(table.key)]
                raise CorruptCheckpoint(PATH, None, f"table {table.name}: row {key} is damaged")
            rows.append(tuple(values))
        return rows

    def commit(
        self, position: int, journal_number: int, changes: Iterable[TableChange] = ()
    ) -> None:
        """Makes the changes and the position durable, all together.

        StorageFull and StorageBusy leave everything as it was.
        """
        connection = self._connection
        own = TableChange(POSITION_TABLE.name, (), [(1, position, journal_number)])
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                for change in (*changes, own):
                    self._write(change)
                connection.commit()
            except BaseException:
                if connection.in_transaction:
                    connection.rollback()
                raise
        except sqlite3.OperationalError as error:
            raise _translated(error) from error

    def _write(self, change: TableChange) -> None:
        table = self._tables[change.table]
        connection = self._connection
        for count in sorted({len(key) for key in change.deletes}):
            where = " AND ".join(f'"{column}" = ?' for column in table.key[:count])
            connection.executemany(
                f'DELETE FROM "{table.name}" WHERE {where}',
                [key for key in change.deletes if len(key) == count],
            )
        if change.upserts:
            marks = ", ".join("?" * (len(table.columns) + 1))
            connection.executemany(
                f'INSERT OR REPLACE INTO "{table.name}" VALUES ({marks})',
                [(*row, row_crc(row)) for row in change.upserts],
            )

    def close(self) -> None:
        """Closes the database; SQLite folds its WAL into the one file."""
        self._connection.close()


def row_crc(values: Row) -> int:
    """CRC-32C of a row's values, each with its type."""
    return crc32c(b"\x1f".join(map(_value_bytes, values)))


def _value_bytes(value: Value) -> bytes:
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    return repr(value).encode()


def _create_tables(connection: sqlite3.Connection, tables: Sequence[Table]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for table in tables:
        columns = [f'"{name}" {SQL_TYPES[kind]}' for name, kind in table.columns.items()]
        columns.append(f'"{CRC_COLUMN}" INTEGER')
        key = ", ".join(f'"{name}"' for name in table.key)
        connection.execute(
            f'CREATE TABLE "{table.name}" ({", ".join(columns)}, PRIMARY KEY ({key}))'
        )
    connection.commit()


def _translated(error: sqlite3.DatabaseError) -> Exception:
    """What can be waited for and what is damage get names; the rest (EIO) ends the process."""
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_FULL:
        return StorageFull("no space left for the checkpoint")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageBusy(f"{PATH} is locked by another program")
    if isinstance(error, sqlite3.OperationalError):
        return error
    return CorruptCheckpoint(PATH, None, f"the database is damaged: {error}")
