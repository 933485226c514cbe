"""Partition: one partition's log and its producers, joined; and what readers may see of it.

Owns: the pairing of `storage.PartitionLog` with `txn.EosManager`, the published watermarks, the
readers that wait for them to move.
Never knows: sockets, requests, how an entry becomes durable.

Two ends: `log.log_end_offset` is where the next batch goes, moved by `apply_batch`;
`high_watermark` is how far readers may see, moved by `publish` when the journal up to there is
durable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from broker.changes import BatchAppended
from storage.partition_log import PartitionLog
from txn.eos_manager import EosManager

if TYPE_CHECKING:
    from broker.topics import Topic

LEADER_EPOCH = 0
"""One node leads for ever, so the epoch never has a reason to move; clients refuse one that falls.
"""


class Ends(NamedTuple):
    """What readers may see of a log: from where, up to where committed, up to where at all."""

    log_start_offset: int
    last_stable_offset: int
    high_watermark: int


class Partition:
    """One partition. Its three offsets are the published ones: durable, and never moving back."""

    __slots__ = (
        "_waiting",
        "directory",
        "eos",
        "high_watermark",
        "index",
        "last_stable_offset",
        "log",
        "log_start_offset",
        "topic",
    )

    def __init__(self, topic: Topic, index: int, directory: str, log: PartitionLog) -> None:
        self.topic = topic
        self.index = index
        self.directory = directory
        self.log = log
        self.eos = EosManager()
        self.high_watermark = log.log_end_offset
        self.last_stable_offset = log.log_end_offset
        self.log_start_offset = log.log_start_offset
        self._waiting: set[Callable[[], None]] = set()

    def apply_batch(self, change: BatchAppended) -> None:
        """Put a journaled batch at the end of the log and remember its producer."""
        header = change.header
        base_offset = header.base_offset
        self.log.append(
            change.batch,
            base_offset,
            base_offset + header.last_offset_delta,
            header.max_timestamp,
            roll=change.roll,
        )
        if header.producer_id >= 0:
            self.eos.apply(header, base_offset, change.crc, change.append_ms)

    def publish(self, ends: Ends) -> None:
        """All up to here is durable: let readers see it. Never moves back."""
        log_start_offset, last_stable_offset, high_watermark = ends
        if log_start_offset > self.log_start_offset:
            self.log_start_offset = log_start_offset
        if high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
        if last_stable_offset > self.last_stable_offset:
            self.last_stable_offset = last_stable_offset
        self.wake()

    def ends(self) -> Ends:
        """What readers may see once everything applied until now is durable."""
        log = self.log
        return Ends(log.log_start_offset, log.log_end_offset, log.log_end_offset)

    def wake(self) -> None:
        """Tell everyone who waits here to look again."""
        if self._waiting:
            waiting, self._waiting = self._waiting, set()
            for callback in waiting:
                callback()

    def wait(self, callback: Callable[[], None]) -> None:
        """Call once when there is something new to see."""
        self._waiting.add(callback)

    def stop_waiting(self, callback: Callable[[], None]) -> None:
        """Forget a callback that has not been called."""
        self._waiting.discard(callback)

    def visible_end(self, read_committed: bool) -> int:
        """First offset a reader of this isolation level may not see."""
        return self.last_stable_offset if read_committed else self.high_watermark
