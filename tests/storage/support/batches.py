"""Record batches for tests of storage: true headers, any payload."""

from __future__ import annotations

from crc32c import crc32c

from protocol.record_batch import ATTRIBUTES_AT, CRC_AT, HEADER, HEADER_BYTES


def opaque_batch(
    base_offset: int, count: int, payload: bytes = b"", timestamp: int = 1000
) -> bytes:
    """A batch whose records are not records; storage does not look at them."""
    batch = bytearray(
        HEADER.pack(
            base_offset,
            HEADER_BYTES - 12 + len(payload),
            0,
            2,
            0,
            0,
            count - 1,
            timestamp,
            timestamp,
            -1,
            -1,
            -1,
            count,
        )
        + payload
    )
    batch[CRC_AT : CRC_AT + 4] = crc32c(memoryview(batch)[ATTRIBUTES_AT:]).to_bytes(4, "big")
    return bytes(batch)
