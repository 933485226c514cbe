"""The batch header: read as written by others, patched in place, and its CRC never fooled."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.record_batch import (
    HEADER,
    HEADER_BYTES,
    MAX_SEQUENCE,
    BatchHeader,
    crc_is_valid,
    crc_of,
    read_header,
    set_base_offset_and_epoch,
    set_log_append_time,
    set_max_timestamp,
    walk_batches,
)
from tests.wire.support.kafka_python import load

KafkaPythonBatch: Any = load("kafka.record.default_records").DefaultRecordBatch

int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
headers = st.builds(
    BatchHeader,
    base_offset=int64s,
    batch_length=st.integers(49, 2**31 - 1),
    leader_epoch=int32s,
    magic=st.integers(-128, 127),
    crc=st.integers(0, 2**32 - 1),
    attributes=st.integers(-(2**15), 2**15 - 1),
    last_offset_delta=int32s,
    base_timestamp=int64s,
    max_timestamp=int64s,
    producer_id=int64s,
    producer_epoch=st.integers(-(2**15), 2**15 - 1),
    base_sequence=int32s,
    record_count=int32s,
)


def batch_of(
    *values: bytes, producer_id: int = 42, is_transactional: int = 1, base_sequence: int = 11
) -> bytearray:
    """A batch as aiokafka builds it."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=is_transactional,
        producer_id=producer_id,
        producer_epoch=3,
        base_sequence=base_sequence,
        batch_size=1 << 20,
    )
    for offset, value in enumerate(values):
        builder.append(offset, 1_000 + offset, b"key", value, [])
    return bytearray(builder.build())


BATCH = bytes(batch_of(b"one", b"two", b"three"))


def header_with(**fields: int) -> BatchHeader:
    return read_header(BATCH)._replace(**fields)


def test_a_batch_of_another_builder_is_read_field_by_field() -> None:
    header = read_header(BATCH)
    assert header == BatchHeader(
        base_offset=0,
        batch_length=len(BATCH) - 12,
        leader_epoch=-1,
        magic=2,
        crc=crc32c(BATCH[21:]),
        attributes=0x10,
        last_offset_delta=2,
        base_timestamp=1_000,
        max_timestamp=1_002,
        producer_id=42,
        producer_epoch=3,
        base_sequence=11,
        record_count=3,
    )
    assert header.size_bytes == len(BATCH)
    assert header.last_offset == 2
    assert header.last_sequence == 13


@given(headers, st.integers(0, 5))
def test_a_header_is_read_as_it_was_written_wherever_it_lies(header: BatchHeader, at: int) -> None:
    buffer = bytes(at) + HEADER.pack(*header)
    assert read_header(buffer, at) == header
    assert read_header(memoryview(bytearray(buffer)), at) == header


@pytest.mark.parametrize("size", range(HEADER_BYTES))
def test_a_header_cut_off_anywhere_is_refused(size: int) -> None:
    with pytest.raises(ProtocolError):
        read_header(BATCH[:size])
    with pytest.raises(ProtocolError):
        read_header(BATCH + BATCH[:size], len(BATCH))


@pytest.mark.parametrize("length", [48, 0, -1, -12, -13, -(2**31)])
def test_a_length_that_cannot_hold_a_header_is_refused(length: int) -> None:
    with pytest.raises(ProtocolError):
        read_header(HEADER.pack(*header_with(batch_length=length)))


@pytest.mark.parametrize("codec", range(8))
def test_the_codec_is_in_the_lowest_three_bits(codec: int) -> None:
    assert header_with(attributes=0x78 | codec).codec == codec


@pytest.mark.parametrize(
    ("bit", "name"),
    [
        (0x08, "is_log_append_time"),
        (0x10, "is_transactional"),
        (0x20, "is_control"),
        (0x40, "has_delete_horizon"),
    ],
)
def test_each_flag_has_its_own_bit(bit: int, name: str) -> None:
    assert getattr(header_with(attributes=bit), name) is True
    assert getattr(header_with(attributes=~bit), name) is False


@pytest.mark.parametrize(
    ("base_sequence", "last_offset_delta", "last_sequence"),
    [
        (0, 0, 0),
        (5, 4, 9),
        (MAX_SEQUENCE, 0, MAX_SEQUENCE),
        (MAX_SEQUENCE, 1, 0),
        (MAX_SEQUENCE - 1, 3, 1),
        (MAX_SEQUENCE, MAX_SEQUENCE, MAX_SEQUENCE - 1),
        (-1, 7, -1),
    ],
)
def test_the_last_sequence_wraps_to_zero_after_the_largest(
    base_sequence: int, last_offset_delta: int, last_sequence: int
) -> None:
    header = header_with(base_sequence=base_sequence, last_offset_delta=last_offset_delta)
    assert header.last_sequence == last_sequence


def test_the_crc_covers_everything_from_the_attributes_to_the_end() -> None:
    assert crc_of(b"ab" + BATCH + b"cd", 2, len(BATCH)) == crc32c(BATCH[21:])
    assert crc_is_valid(b"ab" + BATCH + b"cd", 2, read_header(BATCH))


def test_no_flipped_bit_passes_the_crc_unless_it_is_one_the_broker_sets() -> None:
    outside_the_crc = {*range(8), *range(12, 16)}
    for position in range(len(BATCH)):
        for bit in range(8):
            damaged = bytearray(BATCH)
            damaged[position] ^= 1 << bit
            try:
                valid = crc_is_valid(damaged, 0, read_header(damaged))
            except ProtocolError:
                valid = False
            # The magic lies outside the CRC too; it is the reader's to check.
            assert valid == (position in outside_the_crc or position == 16)


def test_a_batch_that_is_not_whole_in_the_buffer_is_not_valid() -> None:
    header = read_header(BATCH)
    for size in range(len(BATCH)):
        assert not crc_is_valid(BATCH[:size], 0, header)


def test_the_crc_is_computed_without_copying_the_batch() -> None:
    batch = batch_of(bytes(1 << 20))
    header = read_header(batch)
    tracemalloc.start()
    assert crc_is_valid(batch, 0, header)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000


def test_offset_and_epoch_are_set_in_place_and_leave_the_rest_and_the_crc_alone() -> None:
    buffer = bytearray(b"ab" + BATCH + b"cd")
    set_base_offset_and_epoch(memoryview(buffer), 2, 2**40 + 5, 7)
    assert read_header(buffer, 2) == header_with(base_offset=2**40 + 5, leader_epoch=7)
    assert crc_is_valid(buffer, 2, read_header(buffer, 2))
    assert buffer[:2] + buffer[-2:] == b"abcd"
    assert read_header(buffer, 2).last_offset == 2**40 + 7


def test_log_append_time_is_set_in_place_and_read_by_others_for_every_record() -> None:
    buffer = bytearray(b"ab" + BATCH + b"cd")
    set_log_append_time(buffer, 2, 123_456)
    header = read_header(buffer, 2)
    assert header == header_with(
        attributes=0x18, max_timestamp=123_456, crc=crc_of(buffer, 2, len(BATCH))
    )
    assert crc_is_valid(buffer, 2, header)
    assert buffer[:2] + buffer[-2:] == b"abcd"
    records = list(KafkaPythonBatch(bytes(buffer[2:-2])))
    assert [record.timestamp for record in records] == [123_456] * 3
    assert [record.timestamp_type for record in records] == [1] * 3


def test_a_corrected_max_timestamp_changes_nothing_else_but_the_crc() -> None:
    buffer = bytearray(BATCH)
    set_max_timestamp(buffer, 0, 5_000)
    header = read_header(buffer)
    assert header == header_with(max_timestamp=5_000, crc=header.crc)
    assert crc_is_valid(buffer, 0, header)


def test_a_batch_that_is_cut_off_cannot_be_given_a_crc() -> None:
    with pytest.raises(ProtocolError):
        set_log_append_time(bytearray(BATCH[:-1]), 0, 1)


def test_walking_finds_every_whole_batch_and_stops_before_an_incomplete_one() -> None:
    batches = [BATCH, bytes(batch_of(b"x" * 50)), bytes(batch_of(b""))]
    buffer = b"".join(batches)
    ends = [sum(map(len, batches[: count + 1])) for count in range(len(batches))]
    for size in range(len(buffer) + 1):
        walked = list(walk_batches(memoryview(buffer)[:size]))
        whole = sum(end <= size for end in ends)
        assert [at for at, _ in walked] == [0, *ends][:whole]
        assert [header for _, header in walked] == [read_header(b) for b in batches[:whole]]


@pytest.mark.parametrize("length", [48, 0, -12, -(2**31)])
def test_walking_refuses_a_length_that_would_not_lead_forward(length: int) -> None:
    buffer = BATCH + HEADER.pack(*header_with(batch_length=length))
    walk = walk_batches(buffer)
    assert next(walk)[0] == 0
    with pytest.raises(ProtocolError):
        next(walk)
