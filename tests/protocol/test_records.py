"""Records inside batches: what other clients build is read, what is malformed is refused."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import aiokafka.record.default_records as aiokafka_records
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.record_batch import (
    HEADER,
    HEADER_BYTES,
    BatchHeader,
    crc_is_valid,
    read_header,
    seal,
    walk_batches,
)
from protocol.records import FREE_HEADERS, Record, build_batch, read_records
from tests.protocol.support.librdkafka_batches import ProducedRecord, librdkafka_batches
from tests.wire.support.kafka_python import load

kafka_python_records: Any = load("kafka.record.default_records")

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
LIMIT = 1 << 24
MEMORY_FACTOR = 10
MEMORY_SLACK_BYTES = 1 << 20

contents = st.none() | st.binary(max_size=30) | st.sampled_from([b"x" * 63, b"x" * 64, b"x" * 9000])
header_keys = st.text(st.characters(codec="utf-8"), max_size=10)
record_headers = st.lists(st.tuples(header_keys, contents), max_size=3).map(tuple)
int32s = st.integers(0, 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
records = st.builds(Record, int32s, int64s, contents, contents, record_headers)

BASE_TIMESTAMP = 1_700_000_000_000
EXAMPLES: list[ProducedRecord] = [
    (b"key", b"value", [], BASE_TIMESTAMP),
    (None, b"no key", [("h", b"1"), ("h", b"2")], BASE_TIMESTAMP + 5),
    (b"no value", None, [("null", None), ("", b""), ("é", b"\xff")], BASE_TIMESTAMP - 70_000),
    (b"", b"", [], BASE_TIMESTAMP + 2**33),
    (b"k" * 64, b"v" * 70_000, [("long" * 40, b"w" * 200)], BASE_TIMESTAMP),
    *[(b"%d" % index, b"again and again" * index, [], BASE_TIMESTAMP) for index in range(200)],
]
EXPECTED = [
    Record(offset, timestamp - BASE_TIMESTAMP, key, value, tuple(headers))
    for offset, (key, value, headers, timestamp) in enumerate(EXAMPLES)
]

BuildByOther = Callable[[int], bytes]


def built_by(builder_type: Any) -> BuildByOther:
    def build(codec: int) -> bytes:
        builder = builder_type(
            magic=2,
            compression_type=codec,
            is_transactional=1,
            producer_id=7,
            producer_epoch=2,
            base_sequence=5,
            batch_size=1 << 22,
        )
        for offset, (key, value, headers, timestamp) in enumerate(EXAMPLES):
            builder.append(offset, timestamp, key, value, headers)
        return bytes(builder.build())

    return build


OTHERS: dict[str, BuildByOther] = {
    "kafka-python": built_by(kafka_python_records.DefaultRecordBatchBuilder),
    "aiokafka": built_by(aiokafka_records.DefaultRecordBatchBuilder),
    "aiokafka in Python": built_by(aiokafka_records._DefaultRecordBatchBuilderPy),
}
# kafka-python needs another package for snappy.
OTHERS_AND_CODECS = [
    (other, codec)
    for other in OTHERS
    for codec in CODECS
    if (other, codec) != ("kafka-python", "snappy")
]


def read_all(batch: bytes | bytearray, limit_bytes: int = LIMIT) -> list[Record]:
    return list(read_records(batch, 0, read_header(batch), limit_bytes))


@pytest.mark.parametrize(("other", "codec"), OTHERS_AND_CODECS)
def test_batches_of_other_clients_are_read(other: str, codec: str) -> None:
    batch = OTHERS[other](CODECS[codec])
    header = read_header(batch)
    assert header.codec == CODECS[codec]
    assert crc_is_valid(batch, 0, header)
    assert read_all(batch) == EXPECTED


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_librdkafka_are_read(codec: str) -> None:
    data = librdkafka_batches(codec, EXAMPLES)
    found: list[Record] = []
    for at, header in walk_batches(data):
        assert crc_is_valid(data, at, header)
        found += [
            record._replace(
                offset_delta=header.base_offset + record.offset_delta,
                timestamp_delta=header.base_timestamp + record.timestamp_delta - BASE_TIMESTAMP,
            )
            for record in read_records(data, at, header, LIMIT)
        ]
    assert found == EXPECTED


def test_an_uncompressed_batch_is_byte_for_byte_that_of_other_clients() -> None:
    batch = build_batch(
        EXPECTED,
        base_timestamp=BASE_TIMESTAMP,
        producer_id=7,
        producer_epoch=2,
        base_sequence=5,
        is_transactional=True,
    )
    assert bytes(batch) == OTHERS["aiokafka"](0)


@pytest.mark.parametrize("codec", CODECS)
def test_other_clients_read_batches_that_are_built_here(codec: str) -> None:
    batch = bytes(
        build_batch(EXPECTED, base_offset=50, base_timestamp=BASE_TIMESTAMP, codec=CODECS[codec])
    )
    readers: list[Any] = [aiokafka_records.DefaultRecordBatch]
    if codec != "snappy":
        readers.append(kafka_python_records.DefaultRecordBatch)
    for reader in readers:
        theirs = reader(batch)
        assert theirs.validate_crc()
        assert [
            Record(
                record.offset - 50,
                record.timestamp - BASE_TIMESTAMP,
                record.key,
                record.value,
                tuple(record.headers),
            )
            for record in theirs
        ] == EXPECTED


@given(st.lists(records, min_size=1, max_size=5), st.sampled_from(sorted(CODECS.values())))
def test_what_is_built_is_read_again(built: list[Record], codec: int) -> None:
    batch = build_batch(built, codec=codec, max_timestamp=0)
    header = read_header(batch)
    assert crc_is_valid(batch, 0, header)
    assert header.record_count == len(built)
    assert header.last_offset_delta == max(record.offset_delta for record in built)
    assert list(read_records(b"xy" + batch + b"z", 2, header, LIMIT)) == built


def test_the_header_says_what_was_given() -> None:
    batch = build_batch(
        [Record(3, -5, None, None), Record(9, 40, None, None)],
        base_offset=100,
        leader_epoch=6,
        base_timestamp=1_000,
        last_offset_delta=12,
        producer_id=1,
        producer_epoch=2,
        base_sequence=3,
        is_transactional=True,
        is_control=True,
        is_log_append_time=True,
        has_delete_horizon=True,
    )
    header = read_header(batch)
    assert header == BatchHeader(
        base_offset=100,
        batch_length=len(batch) - 12,
        leader_epoch=6,
        magic=2,
        crc=header.crc,
        attributes=0x78,
        last_offset_delta=12,
        base_timestamp=1_000,
        max_timestamp=1_040,
        producer_id=1,
        producer_epoch=2,
        base_sequence=3,
        record_count=2,
    )


def test_a_batch_cannot_end_before_its_last_record() -> None:
    with pytest.raises(ValueError, match="cannot end"):
        build_batch([Record(3, 0, None, None)], last_offset_delta=2)


@pytest.mark.parametrize("codec", CODECS.values())
def test_a_batch_that_compaction_left_empty_is_built_and_read_whatever_its_codec(
    codec: int,
) -> None:
    batch = build_batch([], last_offset_delta=4, codec=codec, producer_id=5)
    header = read_header(batch)
    assert len(batch) == HEADER_BYTES
    assert (header.codec, header.record_count, header.last_offset_delta) == (codec, 0, 4)
    assert header.max_timestamp == -1
    assert read_all(batch) == []
    with pytest.raises(ValueError, match="cannot end"):
        build_batch([])


def test_header_keys_that_are_not_utf8_come_out_of_a_rebuilt_batch_as_they_went_in() -> None:
    batch = build_batch([Record(0, 0, None, None, (("MARK", b"v"),))])
    batch = bytearray(bytes(batch).replace(b"MARK", b"\xff\xfeA\x80"))
    seal(batch, 0)
    assert build_batch(read_all(batch)) == batch


def batch_around(data: bytes, record_count: int, codec: int = 0) -> bytes:
    """A batch with these bytes for records, its header and CRC in order."""
    batch = bytearray(
        HEADER.pack(0, 49 + len(data), 0, 2, 0, codec, 0, 0, 0, -1, -1, -1, record_count)
    )
    batch += data
    seal(batch, 0)
    return bytes(batch)


def varint(value: int) -> bytes:
    """Zigzag, for values that are not negative."""
    value *= 2
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def records_of(batch: bytes | bytearray) -> bytes:
    return bytes(batch[HEADER_BYTES:])


SMALL = [
    Record(0, 0, b"key", b"value", (("a", b"1"), ("b", None))),
    Record(1, 2**40, None, b"v" * 100),
    Record(2, -3, b"k", None),
]
SMALL_DATA = records_of(build_batch(SMALL))


def test_records_cut_off_anywhere_are_refused() -> None:
    assert read_all(batch_around(SMALL_DATA, 3)) == SMALL
    for size in range(len(SMALL_DATA)):
        with pytest.raises(ProtocolError):
            read_all(batch_around(SMALL_DATA[:size], 3))


@pytest.mark.parametrize("record_count", [-(2**31), -1, 0, 1, 2, 4, 100, 2**31 - 1])
def test_a_record_count_that_is_not_that_of_the_records_is_refused(record_count: int) -> None:
    with pytest.raises(ProtocolError):
        read_all(batch_around(SMALL_DATA, record_count))


@pytest.mark.parametrize("tail", [b"\0", SMALL_DATA[:10], SMALL_DATA])
def test_bytes_behind_the_last_record_are_refused(tail: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_all(batch_around(SMALL_DATA + tail, 3))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x0c\0\0\0\x01\x01\0" + b"\0", "1 bytes behind the last record"),
        (b"\x0a\0\0\0\x01\x01\0", "its length says"),
        (b"\x01\0\0\0\x01\x01\0", "record of -1 bytes"),
        (b"\xff\xff\xff\xff\x0f\0\0\0\x01\x01\0", "record of -2147483648 bytes"),
        (b"\xfe\xff\xff\xff\x0f\0\0\0\x01\x01\0", "record of 2147483647 bytes"),
    ],
)
def test_records_whose_length_is_wrong_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        read_all(batch_around(data, 1))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\0\0\0\x01\x01\0" + b"\0", "its length says"),
        (b"\0\0\0\x03\x01\0", "^-2 bytes in a record"),
        (b"\0\0\0\x06\x01\0", "^3 bytes in a record of which 2"),
        (b"\0\0\0\x01\x03\0", "^-2 bytes in a record"),
        (b"\0\0\0\x01\x04\0", "^2 bytes in a record of which 1"),
        (b"\0\0\0\x01\xfe\xff\xff\xff\x0f\0", "^2147483647 bytes in a record"),
        (b"\0\0\0\x01\x01\x01", "-1 headers"),
        (b"\0\0\0\x01\x01\x02", "1 headers"),
        (b"\0\0\0\x01\x01\xfe\xff\xff\xff\x0f", "2147483647 headers"),
        (b"\0\0\0\x01\x01\x02\x01\x01", "header key is null"),
        (b"\0" + b"\x80" * 10 + b"\0" + b"\0\x01\x01\0", "varlong longer than 10 bytes"),
        (b"\0" + b"\xff" * 9 + b"\x02" + b"\0\x01\x01\0", "varlong over 64 bits"),
        (b"\0\0" + b"\x80" * 5 + b"\0" + b"\x01\x01\0", "varint longer than 5 bytes"),
        (b"\0\0" + b"\xff" * 4 + b"\x10" + b"\x01\x01\0", "varint over 32 bits"),
    ],
)
def test_records_that_are_malformed_inside_are_refused(body: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        read_all(batch_around(varint(len(body)) + body, 1))


def test_the_longest_varints_are_read() -> None:
    data = b"\x26\0" + b"\xff" * 9 + b"\x01" + b"\xfe\xff\xff\xff\x0f" + b"\x01\x01\0"
    assert read_all(batch_around(data, 1)) == [Record(2**31 - 1, -(2**63), None, None)]


def test_a_batch_of_another_format_or_cut_off_is_refused() -> None:
    batch = build_batch(SMALL)
    with pytest.raises(ProtocolError):
        list(read_records(batch, 0, read_header(batch)._replace(magic=1), LIMIT))
    with pytest.raises(ProtocolError):
        list(read_records(batch[:-1], 0, read_header(batch), LIMIT))


@pytest.mark.parametrize("codec", CODECS.values())
def test_records_larger_than_allowed_are_refused(codec: int) -> None:
    batch = build_batch(SMALL, codec=codec)
    assert read_all(batch, len(SMALL_DATA)) == SMALL
    with pytest.raises(ProtocolError):
        read_all(batch, len(SMALL_DATA) - 1)


@pytest.mark.parametrize("codec", range(1, 8))
def test_records_that_cannot_be_decompressed_are_refused(codec: int) -> None:
    with pytest.raises(ProtocolError):
        read_all(batch_around(SMALL_DATA, 3, codec))


@given(st.binary(max_size=60), st.integers(-1, 9))
def test_noise_is_refused_or_read_and_never_anything_else(data: bytes, record_count: int) -> None:
    try:
        found = read_all(batch_around(data, record_count))
    except ProtocolError:
        return
    assert len(found) == record_count


@given(st.data())
def test_damaged_records_are_refused_or_read_and_never_anything_else(data: st.DataObject) -> None:
    damaged = bytearray(SMALL_DATA)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert len(read_all(batch_around(bytes(damaged), 3))) == 3
    except ProtocolError:
        pass


def record_with_headers(count: int, header: bytes) -> bytes:
    body = b"\0\0\0\x01\x01" + varint(count) + header * count
    return varint(len(body)) + body


def peak_of_reading(batch: bytes) -> int:
    tracemalloc.start()
    try:
        for _ in read_records(batch, 0, read_header(batch), LIMIT):
            pass
    except ProtocolError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize("count", [FREE_HEADERS, FREE_HEADERS + 100, 50_000])
@pytest.mark.parametrize(
    "header", [b"\0\x01", b"\x04ab\x04cd", b"\x14" + b"k" * 10 + b"\x18" + b"v" * 12]
)
def test_many_headers_cost_no_more_than_ten_times_the_batch(count: int, header: bytes) -> None:
    batch = batch_around(record_with_headers(count, header), 1)
    assert peak_of_reading(batch) <= MEMORY_FACTOR * len(batch) + MEMORY_SLACK_BYTES


def test_thousands_of_headers_are_read() -> None:
    batch = batch_around(record_with_headers(FREE_HEADERS, b"\0\x01"), 1)
    assert read_all(batch)[0].headers == (("", None),) * FREE_HEADERS


def test_walking_over_small_records_keeps_none_of_them() -> None:
    smallest = b"\x0c\0\0\0\x01\x01\0"
    batch = batch_around(smallest * 30_000, 30_000)
    assert peak_of_reading(batch) <= 2 * len(batch) + 10_000
