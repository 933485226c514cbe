"""The store: one data directory with its journal, its logs and its checkpoint.

Owns which logs there are and the order of writes between journal, logs and checkpoint. Must never
know topics, producers or what an entry means.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from storage.filesystem import Filesystem
from storage.journal import Journal, JournalOptions
from storage.log_environment import LogEnvironment
from storage.partition_log import PartitionLog

TOPICS = "topics"


@dataclass(frozen=True)
class StoreOptions:
    """What the caller may choose."""

    journal: JournalOptions = field(default_factory=JournalOptions)


class Store:
    """See the top of this file."""

    def __init__(self, filesystem: Filesystem, journal: Journal) -> None:
        self.filesystem = filesystem
        self.journal = journal
        self._environment = LogEnvironment(filesystem)
        self.logs: dict[str, PartitionLog] = {}

    @classmethod
    def open(cls, filesystem: Filesystem, options: StoreOptions | None = None) -> Store:
        options = options or StoreOptions()
        return cls(filesystem, Journal(filesystem, options.journal))

    def open_log(self, directory: str) -> PartitionLog:
        log = PartitionLog(self._environment, f"{TOPICS}/{directory}")
        self.logs[directory] = log
        return log

    def flush(self) -> None:
        """Writes what was appended: the journal first, then the logs that were touched."""
        self.journal.flush()
        environment = self._environment
        touched = environment.touched
        if touched:
            environment.touched = []
            for log in touched:
                log.flush()
