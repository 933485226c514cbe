"""Recompression: a batch with the same records under another codec.

Owns: exchanging what follows the header, and the header fields that depend on it. Records are not
looked at: a codec packs them as one block. Must never know topics or their settings.
"""

from __future__ import annotations

from protocol.compression import compress
from protocol.primitives import Buffer
from protocol.record_batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    HEADER_BYTES,
    LENGTH_AT,
    LENGTH_PREFIX_BYTES,
    BatchHeader,
    seal,
)
from protocol.records import records_data


def recompress(batch: Buffer, header: BatchHeader, codec: int, limit_bytes: int) -> bytearray:
    """The batch under another codec; ProtocolError when it cannot be unpacked within the limit."""
    packed = compress(codec, records_data(batch, 0, header, limit_bytes))
    fresh = bytearray(memoryview(batch)[:HEADER_BYTES])
    fresh += packed
    length = len(fresh) - LENGTH_PREFIX_BYTES
    attributes = header.attributes & ~CODEC_MASK | codec
    fresh[LENGTH_AT : LENGTH_AT + 4] = length.to_bytes(4, "big")
    fresh[ATTRIBUTES_AT : ATTRIBUTES_AT + 2] = (attributes & 0xFFFF).to_bytes(2, "big")
    seal(fresh, 0)
    return fresh
