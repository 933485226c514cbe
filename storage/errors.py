"""What can go wrong with stored data, as exceptions with names.

Owns the error types that storage raises and the `check` for its own invariants. An OSError that is
not listed here (EIO, a failed fdatasync) is deliberately left alone: it must end the process.
"""

from __future__ import annotations


class StorageError(Exception):
    """Anything storage itself refuses."""


class StorageFull(StorageError):
    """No space left. Nothing was queued; the same call works again when there is space."""


class StorageBusy(StorageError):
    """Somebody else holds state.sqlite. Nothing was changed; try again later."""


class AlreadyLocked(StorageError):
    """Another process works in this data directory."""

    def __init__(self, path: str, pid: int | None) -> None:
        self.path = path
        self.pid = pid
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(
            f"the data directory is in use by {holder} (lock file {path}); stop it, or choose"
            " another directory"
        )


class UnsupportedFormat(StorageError):
    """The directory was written by a newer version."""


class CorruptData(StorageError):
    """Stored bytes that cannot be what was written. Nothing is deleted or repaired by itself."""

    def __init__(self, path: str, position: int | None, problem: str) -> None:
        self.path = path
        self.position = position
        self.problem = problem
        place = path if position is None else f"{path} at byte {position}"
        super().__init__(f"{place}: {problem}")


class CorruptJournal(CorruptData):
    """A journal file that cannot be replayed although it was durable."""


class CorruptSegment(CorruptData):
    """A partition's file that does not hold what the checkpoint or the index says."""


class CorruptDirectory(CorruptData):
    """A data directory whose own description is unreadable or does not fit its content."""


class BrokenInvariant(StorageError):
    """A fault of the program, not of the data."""


def check(condition: bool, message: str) -> None:
    """Stops before a fault of the program can reach the disk."""
    if not condition:
        raise BrokenInvariant(message)
