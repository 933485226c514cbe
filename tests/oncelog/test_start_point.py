"""Where reading starts: the notation of --from, and the offset it comes to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.records import render_time
from oncelog.start_point import StartKind, StartPoint, parse_start_point


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("beginning", StartPoint(StartKind.BEGINNING)),
        ("end", StartPoint(StartKind.END)),
        ("0", StartPoint(StartKind.OFFSET, 0)),
        ("42", StartPoint(StartKind.OFFSET, 42)),
        ("-10", StartPoint(StartKind.LAST, 10)),
        ("@1700000000000", StartPoint(StartKind.TIME, 1_700_000_000_000)),
        ("1970-01-02", StartPoint(StartKind.TIME, 86_400_000)),
        ("1970-01-01T00:00:01.500Z", StartPoint(StartKind.TIME, 1500)),
        ("1970-01-01T01:00:00+01:00", StartPoint(StartKind.TIME, 0)),
        ("1960-01-01", StartPoint(StartKind.TIME, 0)),
    ],
)
def test_each_form_is_understood(text: str, expected: StartPoint) -> None:
    assert parse_start_point(text) == expected


@pytest.mark.parametrize("text", ["", "start", "@", "@x", "--1", "1.5", "\u0661", "2026-13-01"])
def test_anything_else_is_refused_with_the_list_of_forms(text: str) -> None:
    with pytest.raises(ValueError, match="is none of: beginning, end, an offset"):
        parse_start_point(text)


@given(st.integers(0, 4_000_000_000_000))
def test_a_time_that_consume_shows_can_be_given_back(timestamp_ms: int) -> None:
    assert parse_start_point(render_time(timestamp_ms)).number == timestamp_ms


@given(
    start=st.builds(StartPoint, st.sampled_from(StartKind), st.integers(0, 200)),
    low=st.integers(0, 100),
    size=st.integers(0, 100),
)
def test_the_offset_lies_in_the_partition_or_at_its_end(
    start: StartPoint, low: int, size: int
) -> None:
    assert low <= start.offset_between(low, low + size) <= low + size


def test_the_last_records_are_counted_from_the_end() -> None:
    assert StartPoint(StartKind.LAST, 3).offset_between(10, 20) == 17
    assert StartPoint(StartKind.LAST, 30).offset_between(10, 20) == 10
    assert StartPoint(StartKind.OFFSET, 15).offset_between(10, 20) == 15
