"""A database in memory whose every commit is kept, as if it were durable."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable


class CommittingDatabase(sqlite3.Connection):
    """Hands its content over at each commit."""

    on_commit: Callable[[bytes], None]

    def commit(self) -> None:
        super().commit()
        self.on_commit(self.serialize())


def open_committing(
    content: bytes | None, on_commit: Callable[[bytes], None]
) -> CommittingDatabase:
    connection = sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False, factory=CommittingDatabase
    )
    if content is not None:
        connection.deserialize(content)
    connection.on_commit = on_commit
    return connection
