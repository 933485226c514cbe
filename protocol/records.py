"""The records inside a record batch: taking them out, and building a batch of them.

Owns the record layout of format 2 and the trust a batch gets: none. Lengths, counts and varints are
checked, nothing is allocated because a count says so, and compressed records are decompressed up to
a limit. Must never know what keys and values mean, nor which records a broker wants to refuse.

A record: varint length of the rest; int8 attributes, unused; varlong timestamp delta; varint
offset delta; key and value, each a varint length (-1 is null) and bytes; varint header count;
headers, each a key (never null) and a value (maybe null). All varints are zigzag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from protocol.compression import NONE, compress, decompress
from protocol.errors import ProtocolError
from protocol.primitives import Buffer
from protocol.record_batch import (
    CONTROL_BIT,
    CURRENT_MAGIC,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    seal,
)

# Length, attributes, two deltas, two null lengths and a header count, one byte each.
MIN_RECORD_BYTES: Final = 7
# Two lengths.
MIN_HEADER_BYTES: Final = 2
NULL_LENGTH: Final = -1
# A header of 2 bytes becomes 90 in memory, and a record is a single header list: without this, one
# record could cost 45 times the memory of its batch.
FREE_HEADERS: Final = 4096
BYTES_PER_FURTHER_HEADER: Final = 24

_new_record = tuple.__new__
Headers = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    """One record; deltas count from the batch's base offset and base timestamp.

    Header keys that are not UTF-8 keep their bytes as surrogate escapes: Kafka takes them, so they
    must not make a log unreadable, and they must come out of a rebuilt batch as they went in.
    """

    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


def read_records(
    buffer: Buffer, at: int, header: BatchHeader, limit_bytes: int
) -> Iterator[Record]:
    """Yields the records of the batch at `at`; ProtocolError as soon as something is wrong.

    `limit_bytes` is how large the records may be without compression. The CRC is not checked here.
    """
    data = records_data(buffer, at, header, limit_bytes)
    position = 0
    end = len(data)
    for _ in range(header.record_count):
        try:
            record, position = _read_record(data, position, end)
        except IndexError:
            raise ProtocolError("record is cut off") from None
        yield record
    if position != end:
        raise ProtocolError(f"{end - position} bytes behind the last record of a batch")


def records_data(buffer: Buffer, at: int, header: BatchHeader, limit_bytes: int) -> bytes:
    """What follows the batch header, decompressed, if it can hold as many records as it should."""
    end = at + header.size_bytes
    if header.magic != CURRENT_MAGIC:
        raise ProtocolError(f"record batch of magic {header.magic}")
    if end > len(buffer):
        raise ProtocolError("record batch is cut off")
    data: Buffer = memoryview(buffer)[at + HEADER_BYTES : end]
    # Compaction leaves batches without records; nothing is compressed then, whatever the codec.
    codec = header.codec if data else NONE
    data = decompress(codec, data, limit_bytes)
    if not 0 <= header.record_count * MIN_RECORD_BYTES <= len(data):
        raise ProtocolError(f"{header.record_count} records in {len(data)} bytes")
    # Bytes are twice as quick to index as a view, and slices of them need no further copy.
    return bytes(data)


def _read_record(data: bytes, at: int, end: int) -> tuple[Record, int]:
    # Most varints have one byte, so each is first tried as one, in place.
    length = data[at]
    at += 1
    if length < 0x80:
        length = (length >> 1) ^ -(length & 1)
    else:
        length, at = _varint(data, at - 1)
    record_end = at + length
    if length < 0 or record_end > end:
        raise ProtocolError(f"record of {length} bytes where {end - at} are left")
    at += 1
    timestamp_delta = data[at]
    at += 1
    if timestamp_delta < 0x80:
        timestamp_delta = (timestamp_delta >> 1) ^ -(timestamp_delta & 1)
    else:
        timestamp_delta, at = _varlong(data, at - 1)
    offset_delta = data[at]
    at += 1
    if offset_delta < 0x80:
        offset_delta = (offset_delta >> 1) ^ -(offset_delta & 1)
    else:
        offset_delta, at = _varint(data, at - 1)
    key, at = _read_bytes(data, at, record_end)
    value, at = _read_bytes(data, at, record_end)
    headers: Headers = ()
    if data[at]:
        headers, at = _read_headers(data, at, record_end)
    else:
        at += 1
    if at != record_end:
        raise ProtocolError(f"record ends at {at}, its length says {record_end}")
    return _new_record(Record, (offset_delta, timestamp_delta, key, value, headers)), at


def _read_bytes(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    length = data[at]
    at += 1
    if length < 0x80:
        length = (length >> 1) ^ -(length & 1)
    else:
        length, at = _varint(data, at - 1)
    after = at + length
    if length >= 0 and after <= end:
        return data[at:after], after
    if length == NULL_LENGTH:
        return None, at
    raise ProtocolError(f"{length} bytes in a record of which {end - at} are left")


def _read_headers(data: bytes, at: int, end: int) -> tuple[Headers, int]:
    count, at = _varint(data, at)
    if count < 0 or count * MIN_HEADER_BYTES > end - at:
        raise ProtocolError(f"{count} headers in a record of which {end - at} bytes are left")
    if count > FREE_HEADERS + (end - at) // BYTES_PER_FURTHER_HEADER:
        raise ProtocolError(f"{count} headers in {end - at} bytes need too much memory")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        key, at = _read_bytes(data, at, end)
        if key is None:
            raise ProtocolError("header key is null")
        value, at = _read_bytes(data, at, end)
        headers.append((key.decode("utf-8", "surrogateescape"), value))
    return tuple(headers), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at]
    at += 1
    if value > 0x7F:
        byte = data[at]
        at += 1
        value = value & 0x7F | (byte & 0x7F) << 7
        shift = 14
        while byte > 0x7F:
            if shift > 28:
                raise ProtocolError("varint longer than 5 bytes")
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
        if value > 0xFFFFFFFF:
            raise ProtocolError("varint over 32 bits")
    return (value >> 1) ^ -(value & 1), at


def _varlong(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    byte = 0x80
    while byte > 0x7F:
        if shift > 63:
            raise ProtocolError("varlong longer than 10 bytes")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    if value > 0xFFFFFFFFFFFFFFFF:
        raise ProtocolError("varlong over 64 bits")
    return (value >> 1) ^ -(value & 1), at


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    codec: int = NONE,
    base_timestamp: int = 0,
    max_timestamp: int | None = None,
    last_offset_delta: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    is_log_append_time: bool = False,
    has_delete_horizon: bool = False,
) -> bytearray:
    """A whole batch with its CRC.

    Max timestamp and last offset delta follow from the records unless given. Give the latter when
    the batch keeps offsets beyond its records, as compacted ones do; without records it must be.
    """
    data = bytearray()
    count = 0
    largest_offset_delta = -1
    largest_timestamp_delta: int | None = None
    for record in records:
        _append_record(data, record)
        count += 1
        largest_offset_delta = max(largest_offset_delta, record.offset_delta)
        if largest_timestamp_delta is None or record.timestamp_delta > largest_timestamp_delta:
            largest_timestamp_delta = record.timestamp_delta
    if last_offset_delta is None:
        last_offset_delta = largest_offset_delta
    if last_offset_delta < max(0, largest_offset_delta):
        raise ValueError(f"batch cannot end at offset delta {last_offset_delta}")
    if max_timestamp is None:
        max_timestamp = NO_TIMESTAMP
        if largest_timestamp_delta is not None:
            max_timestamp = base_timestamp + largest_timestamp_delta
    attributes = codec
    attributes |= LOG_APPEND_TIME_BIT if is_log_append_time else 0
    attributes |= TRANSACTIONAL_BIT if is_transactional else 0
    attributes |= CONTROL_BIT if is_control else 0
    attributes |= DELETE_HORIZON_BIT if has_delete_horizon else 0
    body = compress(codec, data) if data else data
    batch = bytearray(
        HEADER.pack(
            base_offset, HEADER_BYTES - LENGTH_PREFIX_BYTES + len(body), leader_epoch,
            CURRENT_MAGIC, 0, attributes, last_offset_delta, base_timestamp, max_timestamp,
            producer_id, producer_epoch, base_sequence, count,
        )
    )  # fmt: skip
    batch += body
    seal(batch, 0)
    return batch


def _append_record(data: bytearray, record: Record) -> None:
    body = bytearray(1)
    _append_varint(body, record.timestamp_delta)
    _append_varint(body, record.offset_delta)
    _append_bytes(body, record.key)
    _append_bytes(body, record.value)
    _append_varint(body, len(record.headers))
    for key, value in record.headers:
        _append_bytes(body, key.encode("utf-8", "surrogateescape"))
        _append_bytes(body, value)
    _append_varint(data, len(body))
    data += body


def _append_bytes(body: bytearray, value: bytes | None) -> None:
    if value is None:
        _append_varint(body, NULL_LENGTH)
    else:
        _append_varint(body, len(value))
        body += value


def _append_varint(body: bytearray, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        body.append(value & 0x7F | 0x80)
        value >>= 7
    body.append(value)
