"""Record batches as a client makes them, and the means to break them on purpose.

Owns building (kafka-python's builder), patching of header fields with or without a right CRC, and
reading of fetched batches. Must never know the broker's own batch code.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cramjam
import crc32c

from tests.wire.support.kafka_python import load

_RECORDS: Any = load("kafka.record.default_records")

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_FIELDS = (
    "base_offset",
    "batch_length",
    "leader_epoch",
    "magic",
    "crc",
    "attributes",
    "last_offset_delta",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "record_count",
)
CRC_AT = 17
CRC_COVERS_FROM = 21
LOG_OVERHEAD_BYTES = 12

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODEC_BITS = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20

# 2023-11-14: any fixed instant in the past will do.
PAST_TIMESTAMP = 1_700_000_000_000
MAX_BUILT_BYTES = 1 << 26
XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


@dataclass(frozen=True)
class Record:
    """What a client puts into one record."""

    value: bytes | None
    key: bytes | None = None
    timestamp: int = PAST_TIMESTAMP
    headers: tuple[tuple[str, bytes | None], ...] = ()


def build(
    records: Sequence[Record | bytes],
    *,
    codec: int = NONE,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """One batch of magic 2; plain bytes stand for a record with that value and no key."""
    builder = _RECORDS.DefaultRecordBatchBuilder(
        magic=2,
        compression_type=NONE if codec == SNAPPY else codec,
        is_transactional=False,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        batch_size=MAX_BUILT_BYTES,
    )
    for offset, given in enumerate(records):
        record = Record(given) if isinstance(given, bytes) else given
        headers = list(record.headers)
        if builder.append(offset, record.timestamp, record.key, record.value, headers) is None:
            raise AssertionError("the builder refused a record")
    batch = bytes(builder.build())
    if header_of(batch)["attributes"] & CODEC_BITS != (NONE if codec == SNAPPY else codec):
        raise AssertionError("too little to compress: the builder kept the records plain")
    return (
        compressed(batch, SNAPPY, snappy_block(batch[HEADER.size :])) if codec == SNAPPY else batch
    )


def snappy_block(data: bytes) -> bytes:
    """One raw snappy block, the shape librdkafka writes."""
    return bytes(cramjam.snappy.compress_raw(data))


def snappy_xerial(data: bytes, *, chunks: int = 1) -> bytes:
    """Xerial's chunk framing, the shape Java writes."""
    size = max(1, -(-len(data) // chunks))
    parts = [snappy_block(data[at : at + size]) for at in range(0, len(data), size)]
    return XERIAL_HEADER + b"".join(struct.pack(">i", len(part)) + part for part in parts)


def compressed(batch: bytes, codec: int, payload: bytes) -> bytes:
    """The same batch with this codec and these bytes for its records."""
    attributes = header_of(batch)["attributes"] & ~CODEC_BITS | codec
    return patched(batch[: HEADER.size] + payload, attributes=attributes)


def header_of(batch: bytes) -> dict[str, int]:
    return dict(zip(HEADER_FIELDS, HEADER.unpack_from(batch), strict=True))


def patched(batch: bytes, *, right_crc: bool = True, **changes: int) -> bytes:
    """A batch with other header fields; length and CRC follow unless told otherwise."""
    fields = header_of(batch) | {"batch_length": len(batch) - LOG_OVERHEAD_BYTES} | changes
    result = bytearray(HEADER.pack(*(fields[name] for name in HEADER_FIELDS)))
    result += batch[HEADER.size :]
    if right_crc and "crc" not in changes:
        struct.pack_into(">I", result, CRC_AT, crc32c.crc32c(bytes(result[CRC_COVERS_FROM:])))
    return bytes(result)


def crc_is_right(batch: bytes) -> bool:
    return header_of(batch)["crc"] == crc32c.crc32c(batch[CRC_COVERS_FROM:])


def crc_covered(batch: bytes) -> bytes:
    """What the broker must keep as it came: everything from the attributes on."""
    return batch[CRC_COVERS_FROM:]


def batch_of_size(size_bytes: int) -> bytes:
    """A batch of one record that is exactly this many bytes long."""
    value_bytes = size_bytes - len(build([b""]))
    for slack in range(16):
        batch = build([bytes(value_bytes - slack)])
        if len(batch) == size_bytes:
            return batch
    raise AssertionError(f"no batch of one record has {size_bytes} bytes")


def split(data: bytes) -> list[bytes]:
    """The whole batches in fetched bytes; a cut tail is ignored, as clients do."""
    batches = []
    at = 0
    while len(data) - at >= LOG_OVERHEAD_BYTES:
        (length,) = struct.unpack_from(">i", data, at + 8)
        end = at + LOG_OVERHEAD_BYTES + length
        if end > len(data):
            break
        batches.append(data[at:end])
        at = end
    return batches


def offsets(data: bytes) -> list[tuple[int, int]]:
    """(base offset, last offset) of each whole batch."""
    headers = [header_of(batch) for batch in split(data)]
    return [
        (header["base_offset"], header["base_offset"] + header["last_offset_delta"])
        for header in headers
    ]


def read(data: bytes) -> list[tuple[int, Record]]:
    """(offset, record) of every record in fetched bytes."""
    result = []
    for batch in split(data):
        for found in _RECORDS.DefaultRecordBatch(batch):
            headers = tuple((key, value) for key, value in found.headers)
            record = Record(found.value, found.key, found.timestamp, headers)
            result.append((found.offset, record))
    return result
