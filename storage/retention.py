"""Retention: which segments at the start of a log may go.

Owns the decision, as a pure function of plain values. Must never know files, clocks or the journal:
the answer is a new log start offset, which becomes a journal entry like any other change.

Kafka's rules: oldest first, and only what is wholly below the high watermark. By time: the newest
record of a segment is older than `retention_ms`; one without timestamps stays (Kafka would go by
the age of the file). By size: as long as the log without the segment still has `retention_bytes`.
The last segment can go too; the log is then empty, and the next batch begins a new segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

UNLIMITED = -1
NO_TIMESTAMP = -1


class RetainedSegment(Protocol):
    """What the decision looks at; `storage.segment.Segment` is one."""

    @property
    def next_offset(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    @property
    def max_timestamp(self) -> int: ...


def new_log_start(
    segments: Sequence[RetainedSegment],
    high_watermark: int,
    now_ms: int,
    retention_ms: int,
    retention_bytes: int,
) -> int | None:
    """The offset the log should start at, or None when everything may stay."""
    left_bytes = sum(segment.size_bytes for segment in segments)
    result: int | None = None
    for segment in segments:
        if segment.next_offset > high_watermark:
            break
        too_old = retention_ms != UNLIMITED and _is_older(segment, now_ms - retention_ms)
        too_much = (
            retention_bytes != UNLIMITED and left_bytes - segment.size_bytes >= retention_bytes
        )
        if not too_old and not too_much:
            break
        left_bytes -= segment.size_bytes
        result = segment.next_offset
    return result


def _is_older(segment: RetainedSegment, limit_ms: int) -> bool:
    return segment.max_timestamp != NO_TIMESTAMP and segment.max_timestamp < limit_ms
