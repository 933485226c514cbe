"""Control records: the markers that end a transaction on a partition.

Owns their layout: a batch of one uncompressed record, 78 bytes in all, whose key says commit or
abort. Must never know transactions' states, nor when a marker is due.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from protocol.errors import ProtocolError
from protocol.primitives import Buffer
from protocol.record_batch import (
    CONTROL_BIT,
    CURRENT_MAGIC,
    HEADER,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    NO_LEADER_EPOCH,
    NO_SEQUENCE,
    TRANSACTIONAL_BIT,
    BatchHeader,
    seal,
)
from protocol.records import read_records

ABORT_TYPE: Final = 0
COMMIT_TYPE: Final = 1
END_MARKER_BYTES: Final = 78
# A control record is a few bytes, and never compressed by any broker.
MAX_CONTROL_RECORD_BYTES: Final = 1 << 16

_VERSION: Final = 0
_KEY: Final = Struct(">hh")
_VALUE: Final = Struct(">hi")
# Length 16, attributes, two deltas, key of 4 bytes, value of 6 bytes, no headers; zigzag all.
_RECORD: Final = Struct(">BBBBBhhBhiB")
_ATTRIBUTES: Final = TRANSACTIONAL_BIT | CONTROL_BIT


class EndMarker(NamedTuple):
    """How a transaction ended, and under which coordinator."""

    is_commit: bool
    coordinator_epoch: int


def build_end_marker(
    commit: bool, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp: int
) -> bytearray:
    """The marker's whole batch; its base offset and leader epoch are still to be set."""
    marker = bytearray(
        HEADER.pack(
            0, END_MARKER_BYTES - LENGTH_PREFIX_BYTES, NO_LEADER_EPOCH, CURRENT_MAGIC, 0,
            _ATTRIBUTES, 0, timestamp, timestamp, producer_id, producer_epoch, NO_SEQUENCE, 1,
        )
    )  # fmt: skip
    record_length = END_MARKER_BYTES - HEADER_BYTES - 1
    marker += _RECORD.pack(
        2 * record_length, 0, 0, 0,
        2 * _KEY.size, _VERSION, COMMIT_TYPE if commit else ABORT_TYPE,
        2 * _VALUE.size, _VERSION, coordinator_epoch, 0,
    )  # fmt: skip
    seal(marker, 0)
    return marker


def read_end_marker(buffer: Buffer, at: int, header: BatchHeader) -> EndMarker | None:
    """The marker in the control batch at `at`; None if it holds a control record of another type.

    Versions other than ours are read as ours, as Kafka's readers do: fields are only ever added.
    """
    if not header.is_control or header.record_count != 1:
        raise ProtocolError("not a batch of one control record")
    (record,) = read_records(buffer, at, header, MAX_CONTROL_RECORD_BYTES)
    if record.key is None or len(record.key) < _KEY.size:
        raise ProtocolError("control record without a type")
    _, control_type = _KEY.unpack_from(record.key)
    if control_type not in (ABORT_TYPE, COMMIT_TYPE):
        return None
    if record.value is None or len(record.value) < _VALUE.size:
        raise ProtocolError("end marker without a coordinator epoch")
    _, coordinator_epoch = _VALUE.unpack_from(record.value)
    return EndMarker(control_type == COMMIT_TYPE, coordinator_epoch)
