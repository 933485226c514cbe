"""End markers: the bytes Kafka writes, and no others accepted."""

from __future__ import annotations

from struct import pack

import pytest
from aiokafka.record.control_record import ABORT_MARKER, COMMIT_MARKER, ControlRecord
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import given
from hypothesis import strategies as st

from protocol.control_records import EndMarker, build_end_marker, read_end_marker
from protocol.errors import ProtocolError
from protocol.record_batch import crc_is_valid, read_header
from protocol.records import Record, build_batch

int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(0, 2**63 - 1)


def control_batch(key: bytes | None, value: bytes | None) -> bytearray:
    return build_batch(
        [Record(0, 0, key, value)],
        base_timestamp=9,
        producer_id=5,
        producer_epoch=1,
        is_transactional=True,
        is_control=True,
    )


@given(st.booleans(), int64s, st.integers(0, 2**15 - 1), int32s, int64s)
def test_a_marker_is_78_bytes_and_read_as_it_was_built(
    commit: bool, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp: int
) -> None:
    marker = build_end_marker(commit, producer_id, producer_epoch, coordinator_epoch, timestamp)
    header = read_header(marker)
    assert len(marker) == header.size_bytes == 78
    assert crc_is_valid(marker, 0, header)
    assert header.attributes == 0x30
    assert header.base_timestamp == header.max_timestamp == timestamp
    assert (header.producer_id, header.producer_epoch) == (producer_id, producer_epoch)
    assert (header.base_sequence, header.last_offset_delta, header.record_count) == (-1, 0, 1)
    assert read_end_marker(b"x" + marker, 1, header) == EndMarker(commit, coordinator_epoch)


@pytest.mark.parametrize(("commit", "theirs"), [(True, COMMIT_MARKER), (False, ABORT_MARKER)])
def test_another_reader_sees_the_same_marker(commit: bool, theirs: ControlRecord) -> None:
    batch = DefaultRecordBatch(bytes(build_end_marker(commit, 5, 1, 2, 9)))
    assert batch.validate_crc()
    assert batch.is_control_batch
    (record,) = batch
    assert record.key is not None
    assert ControlRecord.parse(record.key) == theirs


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_is_an_ordinary_batch_of_one_record(commit: bool) -> None:
    key = pack(">hh", 0, 1 if commit else 0)
    built = control_batch(key, pack(">hi", 0, 77))
    assert build_end_marker(commit, 5, 1, 77, 9) == built


def test_control_records_of_other_types_are_no_end_markers() -> None:
    for control_type in (2, 3, 6, -1):
        batch = control_batch(pack(">hh", 0, control_type), b"")
        assert read_end_marker(batch, 0, read_header(batch)) is None


def test_later_versions_may_be_longer_and_are_read_as_this_one() -> None:
    batch = control_batch(pack(">hhi", 3, 1, 5), pack(">hiq", 4, 77, 6))
    assert read_end_marker(batch, 0, read_header(batch)) == EndMarker(True, 77)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, pack(">hi", 0, 1)),
        (b"", pack(">hi", 0, 1)),
        (b"\0\0\0", pack(">hi", 0, 1)),
        (pack(">hh", 0, 1), None),
        (pack(">hh", 0, 1), b"\0\0\0\0\0"),
    ],
)
def test_markers_without_type_or_epoch_are_refused(key: bytes | None, value: bytes | None) -> None:
    batch = control_batch(key, value)
    with pytest.raises(ProtocolError):
        read_end_marker(batch, 0, read_header(batch))


def test_a_batch_of_data_or_of_several_records_is_no_marker() -> None:
    data = build_batch([Record(0, 0, pack(">hh", 0, 1), pack(">hi", 0, 1))])
    several = build_batch([Record(0, 0, b"", b""), Record(1, 0, b"", b"")], is_control=True)
    for batch in (data, several):
        with pytest.raises(ProtocolError):
            read_end_marker(batch, 0, read_header(batch))
