"""Counts what became of produced records: sent, acknowledged, failed, and at which offsets.

Owns the tally of one run of `produce`. Never sends anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from oncelog.wording import counted

# The rate of a shorter run says more about its start than about the broker.
RATE_ELAPSED_MIN_S: Final = 1.0


@dataclass(slots=True)
class PartitionTally:
    """Acknowledged records of one partition and the range of their offsets."""

    records: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class Delivery:
    """The tally; `acknowledge` and `refuse` are called once for each record, in any order."""

    topic: str
    sent: int = 0
    bytes_sent: int = 0
    acknowledged: int = 0
    failed: int = 0
    first_failure: str = ""
    # Whether a failed record may have been stored all the same: nobody heard an answer.
    is_doubtful: bool = False
    partitions: dict[int, PartitionTally] = field(default_factory=dict)

    def send(self, size_bytes: int) -> None:
        self.sent += 1
        self.bytes_sent += size_bytes

    def acknowledge(self, partition: int, offset: int) -> None:
        self.acknowledged += 1
        tally = self.partitions.get(partition)
        if tally is None:
            self.partitions[partition] = PartitionTally(1, offset, offset)
            return
        tally.records += 1
        tally.first_offset = min(tally.first_offset, offset)
        tally.last_offset = max(tally.last_offset, offset)

    def refuse(self, reason: str, *, doubtful: bool = False) -> None:
        self.failed += 1
        self.first_failure = self.first_failure or reason
        self.is_doubtful = self.is_doubtful or doubtful

    def failure_as_text(self) -> str:
        """How many failed; said with care when some may be stored."""
        verb = "was" if self.failed == 1 else "were"
        outcome = "acknowledged, some may be stored" if self.is_doubtful else "written"
        return f"{self.failed:,} of {counted(self.sent, 'record')} {verb} not {outcome}"

    def as_json(self, elapsed_s: float) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "sent": self.sent,
            "acknowledged": self.acknowledged,
            "failed": self.failed,
            "bytes": self.bytes_sent,
            "seconds": round(elapsed_s, 3),
            "partitions": [
                {
                    "partition": partition,
                    "records": tally.records,
                    "first_offset": tally.first_offset,
                    "last_offset": tally.last_offset,
                }
                for partition, tally in sorted(self.partitions.items())
            ],
        }

    def as_text(self, elapsed_s: float) -> str:
        text = f"{counted(self.acknowledged, 'record')} acknowledged"
        if self.partitions:
            text += f" in {counted(len(self.partitions), 'partition')} of {self.topic}"
        text += f", {elapsed_s:.2f} s"
        if elapsed_s >= RATE_ELAPSED_MIN_S:
            text += f", {round(self.acknowledged / elapsed_s):,} records/s"
        return text
