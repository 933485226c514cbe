"""The time index of a segment: Kafka's `.timeindex`, from timestamps to offsets.

Owns the format and the lookup. An entry (i64, i32) says: up to here the largest timestamp is this,
and the batch that has it ends at this offset (relative to the segment's base). Strictly increasing
in time. Must never know files. Lookups may run in another thread than `append`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from struct import Struct

from storage.offset_index import strictly_increasing

ENTRY = Struct(">qi")
ENTRY_BYTES = ENTRY.size
ENTRIES_MAX = (10 << 20) // ENTRY_BYTES


class TimeIndex:
    """All entries of one segment, in memory."""

    __slots__ = ("_offsets", "_timestamps")

    def __init__(self) -> None:
        self._timestamps = array("q")
        self._offsets = array("i")

    def __len__(self) -> int:
        return len(self._timestamps)

    def append_if_later(self, timestamp: int, relative_offset: int) -> None:
        last = self._timestamps[-1] if self._timestamps else -1
        if timestamp > last:
            self._offsets.append(relative_offset)
            self._timestamps.append(timestamp)

    def entry_at_or_before(self, timestamp: int) -> tuple[int, int] | None:
        """(timestamp, relative offset): no batch that ends below has a record of `timestamp`."""
        found = bisect_right(self._timestamps, timestamp)
        return (self._timestamps[found - 1], self._offsets[found - 1]) if found else None

    def to_bytes(self, start: int = 0) -> bytes:
        """Kafka's bytes of the entries from `start` on."""
        timestamps = self._timestamps[start:]
        return b"".join(map(ENTRY.pack, timestamps, self._offsets[start:]))

    @classmethod
    def from_bytes(cls, data: bytes | bytearray) -> TimeIndex | None:
        """None when this cannot be a time index: rebuild it then."""
        if len(data) % ENTRY_BYTES:
            return None
        index = cls()
        for timestamp, offset in ENTRY.iter_unpack(data):
            index._timestamps.append(timestamp)
            index._offsets.append(offset)
        if len(index) and (index._timestamps[0] < 0 or min(index._offsets) < 0):
            return None
        return index if strictly_increasing(index._timestamps) else None
