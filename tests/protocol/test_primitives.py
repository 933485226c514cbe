"""Primitive types: exact bytes, exact bounds, one error for everything malformed."""

import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.primitives import (
    COMPACT_STRING_ELEMENT,
    INT8_ELEMENT,
    INT32_ELEMENT,
    MEMORY_SLACK_BYTES,
    ZERO_UUID,
    Reader,
    Writer,
    required,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
BYTES = st.binary(max_size=300)


def integers(bits: int, *, is_signed: bool = True) -> st.SearchStrategy[int]:
    low = -(1 << (bits - 1)) if is_signed else 0
    return st.integers(low, low + (1 << bits) - 1)


PLAIN: dict[str, tuple[st.SearchStrategy[Any], str | None]] = {
    "int8": (integers(8), ">b"),
    "int16": (integers(16), ">h"),
    "uint16": (integers(16, is_signed=False), ">H"),
    "int32": (integers(32), ">i"),
    "uint32": (integers(32, is_signed=False), ">I"),
    "int64": (integers(64), ">q"),
    "float64": (st.floats(allow_nan=False), ">d"),
    "boolean": (st.booleans(), ">?"),
    "uuid": (st.binary(min_size=16, max_size=16), ">16s"),
    "unsigned_varint": (integers(32, is_signed=False), None),
    "varint": (integers(32), None),
    "varlong": (integers(64), None),
    "string": (TEXT, None),
    "nullable_string": (TEXT | st.none(), None),
    "compact_string": (TEXT, None),
    "compact_nullable_string": (TEXT | st.none(), None),
    "bytes_": (BYTES, None),
    "nullable_bytes": (BYTES | st.none(), None),
    "compact_bytes": (BYTES, None),
    "compact_nullable_bytes": (BYTES | st.none(), None),
}


def written(name: str, *values: Any) -> bytes:
    writer = Writer()
    getattr(writer, name)(*values)
    return bytes(writer.buffer)


def read(name: str, data: bytes, *arguments: Any) -> Any:
    reader = Reader(data)
    value = getattr(reader, name)(*arguments)
    assert reader.remaining == 0
    return value


@pytest.mark.parametrize("name", PLAIN)
@given(data=st.data())
def test_values_survive_and_every_truncation_is_refused(name: str, data: st.DataObject) -> None:
    strategy, layout = PLAIN[name]
    value = data.draw(strategy)
    wire = written(name, value)
    if layout is not None:
        assert wire == struct.pack(layout, value)
    assert read(name, wire) == value
    cut = data.draw(st.integers(0, len(wire) - 1))
    with pytest.raises(ProtocolError):
        getattr(Reader(wire[:cut]), name)()
    with pytest.raises(ProtocolError):
        getattr(Reader(wire, 0, cut), name)()


@pytest.mark.parametrize(
    ("name", "wire", "value"),
    [
        ("unsigned_varint", "00", 0),
        ("unsigned_varint", "7f", 127),
        ("unsigned_varint", "8001", 128),
        ("unsigned_varint", "ac02", 300),
        ("unsigned_varint", "ffffffff0f", 0xFFFFFFFF),
        ("varint", "01", -1),
        ("varint", "02", 1),
        ("varint", "ffffffff0f", -(1 << 31)),
        ("varlong", "ffffffffffffffffff01", -(1 << 63)),
        ("varlong", "feffffffffffffffff01", (1 << 63) - 1),
        ("string", "0003666f6f", "foo"),
        ("nullable_string", "ffff", None),
        ("compact_string", "04666f6f", "foo"),
        ("compact_string", "01", ""),
        ("compact_nullable_string", "00", None),
        ("bytes_", "000000020102", b"\x01\x02"),
        ("nullable_bytes", "ffffffff", None),
        ("compact_bytes", "030102", b"\x01\x02"),
        ("compact_nullable_bytes", "00", None),
        ("boolean", "00", False),
        ("boolean", "01", True),
    ],
)
def test_known_encodings(name: str, wire: str, value: Any) -> None:
    assert written(name, value) == bytes.fromhex(wire)
    assert read(name, bytes.fromhex(wire)) == value


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("unsigned_varint", "ffffffff10"),
        ("unsigned_varint", "808080808000"),
        ("varlong", "ffffffffffffffffff02"),
        ("varlong", "8080808080808080808000"),
        ("string", "ffff"),
        ("string", "fffe"),
        ("nullable_string", "fffe"),
        ("compact_string", "00"),
        ("string", "0001ff"),
        ("string", "0002c080"),
        ("string", "0003eda080"),
        ("compact_string", "02ff"),
        ("compact_string", "818002" + "61" * 0x8000),
        ("bytes_", "ffffffff"),
        ("nullable_bytes", "fffffffe"),
        ("compact_bytes", "00"),
        ("records", "ffffffff"),
        ("nullable_records", "fffffffe"),
        ("compact_records", "00"),
    ],
)
def test_malformed_values_are_refused(name: str, wire: str) -> None:
    with pytest.raises(ProtocolError):
        getattr(Reader(bytes.fromhex(wire)), name)()


def test_any_byte_but_zero_is_true() -> None:
    assert [read("boolean", bytes([byte])) for byte in (0, 1, 2, 255)] == [False, True, True, True]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unsigned_varint", 1 << 32),
        ("unsigned_varint", -1),
        ("varint", 1 << 31),
        ("varlong", -(1 << 63) - 1),
        ("uuid", b"short"),
        ("string", "x" * 0x8000),
        ("compact_string", "x" * 0x8000),
        ("int8", 128),
        ("int32", 1 << 31),
    ],
)
def test_values_out_of_range_are_not_written(name: str, value: Any) -> None:
    with pytest.raises((ValueError, struct.error)):
        written(name, value)


@pytest.mark.parametrize("prefix", ["", "compact_"])
def test_records_are_views_and_null_is_null(prefix: str) -> None:
    wire = bytearray(written(f"{prefix}nullable_bytes", b"batch"))
    records = getattr(Reader(wire), f"{prefix}nullable_records")()
    assert isinstance(records, memoryview)
    assert bytes(records) == b"batch"
    assert getattr(Reader(wire), f"{prefix}records")() == b"batch"
    assert read(f"{prefix}nullable_records", written(f"{prefix}nullable_bytes", None)) is None


LISTS: dict[str, st.SearchStrategy[Any]] = {
    "int8": integers(8),
    "int32": integers(32),
    "int64": integers(64),
}


@pytest.mark.parametrize("name", LISTS)
@given(data=st.data())
def test_lists_survive_and_every_truncation_is_refused(name: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(LISTS[name], min_size=1, max_size=20))
    wire = written(f"{name}_list", values)
    single = b"".join(written(name, value) for value in values)
    assert wire == single
    assert read(f"{name}_list", wire, len(values)) == values
    cut = data.draw(st.integers(0, len(wire) - 1))
    with pytest.raises(ProtocolError):
        getattr(Reader(wire[:cut]), f"{name}_list")(len(values))


COUNTS: list[tuple[str, Callable[[int], bytes]]] = [
    ("count", lambda count: written("count", count)),
    ("nullable_count", lambda count: written("count", count)),
    ("compact_count", lambda count: written("compact_count", count)),
    ("compact_nullable_count", lambda count: written("compact_count", count)),
]


@pytest.mark.parametrize(("name", "write"), COUNTS)
def test_counts_are_held_against_the_bytes_that_are_left(
    name: str, write: Callable[[int], bytes]
) -> None:
    ten = write(10)
    assert getattr(Reader(ten + bytes(40)), name)(INT32_ELEMENT) == 10
    for data, element in ((ten + bytes(39), INT32_ELEMENT), (ten + bytes(9), INT8_ELEMENT)):
        with pytest.raises(ProtocolError):
            getattr(Reader(data), name)(element)


@pytest.mark.parametrize(
    ("name", "wire", "is_null"),
    [
        ("count", "ffffffff", False),
        ("nullable_count", "ffffffff", True),
        ("nullable_count", "fffffffe", False),
        ("compact_count", "00", False),
        ("compact_nullable_count", "00", True),
        ("count", "7fffffff", False),
        ("compact_count", "ffffffff0f", False),
        ("compact_nullable_count", "ffffffff0f", False),
    ],
)
def test_null_counts_pass_only_where_null_is_allowed(name: str, wire: str, is_null: bool) -> None:
    reader = Reader(bytes.fromhex(wire))
    if is_null:
        assert getattr(reader, name)(INT32_ELEMENT) == -1
    else:
        with pytest.raises(ProtocolError):
            getattr(reader, name)(INT32_ELEMENT)


def test_arrays_are_charged_before_they_exist() -> None:
    data = written("compact_count", 400_000) + b"\x01" * 400_000
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match="memory"):
            Reader(data).compact_count(COMPACT_STRING_ELEMENT)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_the_allowance_is_spent_across_arrays() -> None:
    reader = Reader(bytes(100), slack_bytes=0)
    before = reader.allowance
    reader.admit(3, INT32_ELEMENT)
    reader.admit(2, INT32_ELEMENT)
    assert before - reader.allowance == 5 * INT32_ELEMENT[1]
    assert Reader(bytes(100)).allowance == before + MEMORY_SLACK_BYTES


def test_int8_lists_share_their_numbers() -> None:
    values = read("int8_list", b"\x80" * 1000, 1000)
    assert len({id(value) for value in values}) == 1


def test_tagged_fields_are_skipped_whole() -> None:
    writer = Writer()
    writer.tagged_fields([(0, Writer(bytearray(b"abc"))), (300, Writer(bytearray(b"")))])
    wire = bytes(writer.buffer)
    assert wire == b"\x02\x00\x03abc\xac\x02\x00"
    reader = Reader(wire + b"!")
    reader.skip_tagged_fields()
    assert reader.remaining == 1
    for cut in range(len(wire)):
        with pytest.raises(ProtocolError):
            Reader(wire[:cut]).skip_tagged_fields()


@pytest.mark.parametrize("wire", ["ffffffff0f", "02000000", "0100ffffffff0f", "010004616263"])
def test_tag_counts_and_sizes_are_held_against_the_bytes_that_are_left(wire: str) -> None:
    with pytest.raises(ProtocolError):
        Reader(bytes.fromhex(wire)).skip_tagged_fields()


def test_a_tag_count_is_refused_before_the_first_tag_is_read() -> None:
    with pytest.raises(ProtocolError, match="11 tagged fields"):
        Reader(b"\x0b" + bytes(21)).skip_tagged_fields()


def test_a_known_tag_must_end_where_it_said() -> None:
    reader = Reader(b"\x00\x02ab")
    number, end = reader.tag()
    assert number == 0
    reader.take(1)
    with pytest.raises(ProtocolError):
        reader.end_tag(end)
    reader.take(1)
    reader.end_tag(end)


def test_the_byte_before_a_nullable_struct() -> None:
    assert written("present", True) == b"\x01"
    assert written("present", False) == b"\xff"
    assert Reader(b"\x01").is_present()
    assert not Reader(b"\xff").is_present()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_readers_take_any_buffer_and_any_window(kind: Callable[[bytes], Any]) -> None:
    reader = Reader(kind(b"..\x00\x07.."), 2, 4)
    assert reader.remaining == 2
    assert reader.int16() == 7
    with pytest.raises(ProtocolError):
        reader.int8()


def test_writers_go_on_in_the_buffer_they_are_given() -> None:
    buffer = bytearray(b"ab")
    Writer(buffer).int16(1)
    assert buffer == b"ab\x00\x01"


def test_required_passes_everything_but_null() -> None:
    assert required("") == ""
    with pytest.raises(ValueError, match="null"):
        required(None)
    assert len(ZERO_UUID) == 16
