"""Records as text: what consume writes, produce reads."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.records import (
    Columns,
    InputRecord,
    LineFormat,
    RecordFormatError,
    StoredRecord,
    bytes_from_json,
    bytes_to_json,
    parse_json_record,
    record_as_json,
    render_time,
)

optional_bytes = st.none() | st.binary(max_size=20)
header_lists = st.lists(
    st.tuples(st.text(st.characters(codec="utf-8"), max_size=8), optional_bytes)
)
stored_records = st.builds(
    StoredRecord,
    topic=st.just("t"),
    partition=st.integers(0, 9),
    offset=st.integers(0, 2**40),
    timestamp_ms=st.none() | st.integers(0, 2**40),
    key=optional_bytes,
    value=optional_bytes,
    headers=header_lists.map(tuple),
)


def stored(**changes: Any) -> StoredRecord:
    base: dict[str, Any] = {
        "topic": "t",
        "partition": 2,
        "offset": 7,
        "timestamp_ms": 0,
        "key": b"k",
        "value": b"v",
        "headers": (("a", b"1"), ("b", None)),
    }
    return StoredRecord(**{**base, **changes})


@given(stored_records)
def test_a_record_written_as_json_is_read_back_the_same(record: StoredRecord) -> None:
    line = json.dumps(record_as_json(record)).encode()
    assert parse_json_record(line) == InputRecord(
        record.key, record.value, record.headers, record.partition, record.timestamp_ms
    )


@given(optional_bytes)
def test_bytes_survive_json(value: bytes | None) -> None:
    assert bytes_from_json(json.loads(json.dumps(bytes_to_json(value)))) == value


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b'{"value": 5}',
        b'{"value": {"base64": "*"}}',
        b'{"value": {"base64": 5}}',
        b'{"value": "\\ud800"}',
        b'{"headers": {"a": "b"}}',
        b'{"headers": [["a"]]}',
        b'{"headers": [[1, "b"]]}',
        b'{"partition": "0"}',
        b'{"partition": true}',
        b"\xff",
    ],
)
def test_a_line_that_is_no_record_is_refused(line: bytes) -> None:
    with pytest.raises(RecordFormatError):
        parse_json_record(line)


@given(st.binary(max_size=200))
def test_no_line_raises_anything_else(line: bytes) -> None:
    try:
        parse_json_record(line)
    except RecordFormatError:
        return


def test_without_a_separator_the_whole_line_is_the_value() -> None:
    assert LineFormat().parse(b"a:b") == InputRecord(None, b"a:b")


def test_the_first_separator_divides_key_and_value() -> None:
    lines = LineFormat(key_separator=b":")
    assert lines.parse(b"a:b:c") == InputRecord(b"a", b"b:c")
    assert lines.parse(b":b") == InputRecord(b"", b"b")
    assert lines.parse(b"a:") == InputRecord(b"a", b"")
    assert lines.parse(b"ab") == InputRecord(None, b"ab")


def test_the_null_text_stands_for_no_key_and_no_value() -> None:
    lines = LineFormat(key_separator=b":", null=b"NULL")
    assert lines.parse(b"a:NULL") == InputRecord(b"a", None)
    assert lines.parse(b"NULL:a") == InputRecord(None, b"a")
    assert LineFormat().parse(b"NULL") == InputRecord(None, b"NULL")


def test_only_the_value_is_shown_unless_more_is_asked_for() -> None:
    assert Columns().render(stored()) == b"v"
    assert Columns().render(stored(value=None)) == b"NULL"


def test_columns_stand_in_front_of_the_value_in_a_fixed_order() -> None:
    columns = Columns(offsets=True, timestamps=True, headers=True, keys=True, separator=b"|")
    shown = columns.render(stored())
    assert shown == b"2:7|1970-01-01T00:00:00.000Z|a=1,b=NULL|k|v"


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (None, "-"),
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**62, f"@{2**62}"),
    ],
)
def test_times_are_shown_in_utc_with_milliseconds(timestamp_ms: int | None, text: str) -> None:
    assert render_time(timestamp_ms) == text
