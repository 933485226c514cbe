"""The offset index of a segment: Kafka's `.index`, from offsets to places in the `.log`.

Owns the format and the lookup. Sparse: one entry per 4096 bytes of batches. An entry is the last
offset of a batch relative to the segment's base (i32), and where that batch begins (i32), both
strictly increasing. Must never know files. Lookups may run in another thread than `append`.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right

ENTRY_BYTES = 8
INDEX_INTERVAL_BYTES = 4096
ENTRIES_MAX = (10 << 20) // ENTRY_BYTES
"""Kafka's default segment.index.bytes; a segment with a full index is rolled."""


class OffsetIndex:
    """All entries of one segment, in memory."""

    __slots__ = ("_offsets", "_positions")

    def __init__(self) -> None:
        self._offsets = array("i")
        self._positions = array("i")

    def __len__(self) -> int:
        return len(self._offsets)

    def append(self, relative_offset: int, position: int) -> None:
        # The offset comes last: a lookup elsewhere that finds it also finds its position.
        self._positions.append(position)
        self._offsets.append(relative_offset)

    def entry_at_or_before_offset(self, relative_offset: int) -> tuple[int, int] | None:
        """(last offset, position) of the last indexed batch that does not end after the offset."""
        found = bisect_right(self._offsets, relative_offset)
        return (self._offsets[found - 1], self._positions[found - 1]) if found else None

    def position_before_offset(self, relative_offset: int) -> int:
        """Where the last indexed batch begins that ends below `relative_offset`."""
        found = bisect_left(self._offsets, relative_offset)
        return self._positions[found - 1] if found else 0

    def position_from_offset(self, relative_offset: int, default: int) -> int:
        """Where the first indexed batch begins that ends at or after `relative_offset`."""
        found = bisect_left(self._offsets, relative_offset)
        return self._positions[found] if found < len(self._offsets) else default

    def position_at_or_before(self, position: int) -> int:
        """Where the last indexed batch begins that does not begin after `position`."""
        found = bisect_right(self._positions, position)
        return self._positions[found - 1] if found else 0

    def to_bytes(self, start: int = 0) -> bytes:
        """Kafka's bytes of the entries from `start` on."""
        offsets = self._offsets[start:]
        both = array("i", bytes(ENTRY_BYTES * len(offsets)))
        both[0::2] = offsets
        both[1::2] = self._positions[start : start + len(offsets)]
        if sys.byteorder == "little":
            both.byteswap()
        return both.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray, size_bytes: int) -> OffsetIndex | None:
        """None when this cannot be the index of a segment of `size_bytes`: rebuild it then."""
        if len(data) % ENTRY_BYTES:
            return None
        both = array("i")
        both.frombytes(data)
        if sys.byteorder == "little":
            both.byteswap()
        index = cls()
        index._offsets = both[0::2]
        index._positions = both[1::2]
        for values in (index._offsets, index._positions):
            if not strictly_increasing(values):
                return None
        if len(index) and (index._offsets[0] < 0 or index._positions[0] <= 0):
            return None
        if len(index) and index._positions[-1] >= size_bytes:
            return None
        return index


def strictly_increasing(values: array[int]) -> bool:
    return all(map(int.__lt__, values, values[1:]))
