"""The record batch header: Kafka's 61 bytes in front of every batch, format 2 ("magic 2").

Owns reading the header, the CRC over what follows it, and the fields a broker may change in place.
Base offset and leader epoch lie in front of the CRC on purpose: assigning them touches no other
byte. Must never know the records inside (protocol/records.py does), files, partitions or producers.

    0 base offset        i64   21 attributes         i16   43 producer id     i64
    8 batch length       i32   23 last offset delta  i32   51 producer epoch  i16
   12 leader epoch       i32   27 base timestamp     i64   53 base sequence   i32
   16 magic              i8    35 max timestamp      i64   57 record count    i32
   17 CRC-32C            u32      the CRC covers everything from byte 21 to the end of the batch
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from struct import error as struct_error
from typing import Final, NamedTuple, TypeAlias

from crc32c import crc32c

from protocol.errors import ProtocolError
from protocol.primitives import Buffer

WritableBuffer: TypeAlias = bytearray | memoryview

HEADER_BYTES: Final = 61
# Base offset and batch length: what the batch length does not count.
LENGTH_PREFIX_BYTES: Final = 12
MIN_BATCH_LENGTH: Final = HEADER_BYTES - LENGTH_PREFIX_BYTES
CURRENT_MAGIC: Final = 2

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_LEADER_EPOCH: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
MAX_SEQUENCE: Final = 2**31 - 1

LENGTH_AT: Final = 8
LEADER_EPOCH_AT: Final = 12
MAGIC_AT: Final = 16
CRC_AT: Final = 17
ATTRIBUTES_AT: Final = 21
MAX_TIMESTAMP_AT: Final = 35

HEADER: Final = Struct(">qiibIhiqqqhii")
_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_UINT32: Final = Struct(">I")
_INT64: Final = Struct(">q")

_unpack_header = HEADER.unpack_from
_new_tuple = tuple.__new__


class BatchHeader(NamedTuple):
    """The header as it stands on the wire, field by field, and what follows from the fields."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + LENGTH_PREFIX_BYTES

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Compaction keeps its horizon in base_timestamp then."""
        return self.attributes & DELETE_HORIZON_BIT != 0

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """Sequences wrap from 2^31-1 to 0; without a first sequence there is no last one."""
        if self.base_sequence < 0:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & MAX_SEQUENCE


def read_header(buffer: Buffer, at: int = 0) -> BatchHeader:
    """Reads the header at `at`; the batch itself need not be in the buffer.

    Only the length is checked, since everybody walks by it. Magic, counts and CRC are left to the
    caller: each has an answer of its own towards a producer.
    """
    try:
        header: BatchHeader = _new_tuple(BatchHeader, _unpack_header(buffer, at))
    except struct_error:
        raise ProtocolError(f"record batch header needs {HEADER_BYTES} bytes") from None
    if header[1] < MIN_BATCH_LENGTH:
        raise ProtocolError(f"record batch length {header[1]} is below {MIN_BATCH_LENGTH}")
    return header


def crc_of(buffer: Buffer, at: int, size: int) -> int:
    """CRC-32C of the whole batch of `size` bytes at `at`, computed without copying it."""
    return crc32c(memoryview(buffer)[at + ATTRIBUTES_AT : at + size])


def crc_is_valid(buffer: Buffer, at: int, header: BatchHeader) -> bool:
    """Whether the batch lies whole in the buffer and its bytes are those its sender summed up."""
    size = header[1] + LENGTH_PREFIX_BYTES
    return at + size <= len(buffer) and crc_of(buffer, at, size) == header[4]


def set_base_offset_and_epoch(buffer: WritableBuffer, at: int, offset: int, epoch: int) -> None:
    """Gives the batch its place in the log, in place; the CRC covers neither field."""
    _INT64.pack_into(buffer, at, offset)
    _INT32.pack_into(buffer, at + LEADER_EPOCH_AT, epoch)


def set_max_timestamp(buffer: WritableBuffer, at: int, timestamp: int) -> None:
    """Corrects a max timestamp the producer got wrong, in place, and the CRC with it."""
    _INT64.pack_into(buffer, at + MAX_TIMESTAMP_AT, timestamp)
    seal(buffer, at)


def set_log_append_time(buffer: WritableBuffer, at: int, timestamp: int) -> None:
    """Makes `timestamp` the time of all records: readers take max_timestamp when the bit is set."""
    (attributes,) = _INT16.unpack_from(buffer, at + ATTRIBUTES_AT)
    _INT16.pack_into(buffer, at + ATTRIBUTES_AT, attributes | LOG_APPEND_TIME_BIT)
    _INT64.pack_into(buffer, at + MAX_TIMESTAMP_AT, timestamp)
    seal(buffer, at)


def seal(buffer: WritableBuffer, at: int) -> None:
    """Writes the CRC of the batch at `at`, which must lie whole in the buffer."""
    header = read_header(buffer, at)
    if at + header.size_bytes > len(buffer):
        raise ProtocolError("record batch is cut off: its CRC cannot be computed")
    _UINT32.pack_into(buffer, at + CRC_AT, crc_of(buffer, at, header.size_bytes))


def walk_batches(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Positions and headers of the whole batches in the buffer, in order.

    Stops in front of an incomplete batch at the end, as every reader of a cut log does; a length no
    batch can have is a ProtocolError. CRCs are not checked.
    """
    at = 0
    end = len(buffer)
    while at + HEADER_BYTES <= end:
        header = read_header(buffer, at)
        after = at + header[1] + LENGTH_PREFIX_BYTES
        if after > end:
            return
        yield at, header
        at = after
