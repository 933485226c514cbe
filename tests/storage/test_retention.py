"""Retention: which leading segments may go."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from storage.retention import UNLIMITED, new_log_start

FAR = 1 << 40


class Segment(NamedTuple):
    next_offset: int
    size_bytes: int
    max_timestamp: int


THREE = [Segment(10, 100, 1000), Segment(20, 100, 2000), Segment(30, 100, 3000)]


def test_nothing_goes_without_limits() -> None:
    assert new_log_start(THREE, FAR, 10**15, UNLIMITED, UNLIMITED) is None
    assert new_log_start([], FAR, 10**15, 0, 0) is None


def test_by_time_the_newest_record_counts() -> None:
    assert new_log_start(THREE, FAR, 2500, 1500, UNLIMITED) is None
    assert new_log_start(THREE, FAR, 2501, 1500, UNLIMITED) == 10
    assert new_log_start(THREE, FAR, 3501, 1500, UNLIMITED) == 20


def test_the_active_segment_goes_too() -> None:
    assert new_log_start(THREE, FAR, 10**6, 1, UNLIMITED) == 30


def test_a_young_segment_protects_the_ones_behind_it() -> None:
    segments = [Segment(10, 100, 9000), Segment(20, 100, 1)]
    assert new_log_start(segments, FAR, 5000, 10, UNLIMITED) is None


def test_a_segment_without_timestamps_does_not_go_by_time() -> None:
    assert new_log_start([Segment(10, 100, -1)], FAR, 10**15, 0, UNLIMITED) is None


def test_by_size_the_rest_keeps_at_least_the_limit() -> None:
    assert new_log_start(THREE, FAR, 0, UNLIMITED, 201) is None
    assert new_log_start(THREE, FAR, 0, UNLIMITED, 200) == 10
    assert new_log_start(THREE, FAR, 0, UNLIMITED, 101) == 10
    assert new_log_start(THREE, FAR, 0, UNLIMITED, 100) == 20
    assert new_log_start(THREE, FAR, 0, UNLIMITED, 0) == 30


def test_nothing_at_or_above_the_high_watermark_goes() -> None:
    assert new_log_start(THREE, 29, 10**6, 1, 0) == 20
    assert new_log_start(THREE, 20, 10**6, 1, 0) == 20
    assert new_log_start(THREE, 19, 10**6, 1, 0) == 10
    assert new_log_start(THREE, 9, 10**6, 1, 0) is None


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 100), st.integers(-1, 100))),
    st.integers(0, 500),
    st.integers(0, 200),
    st.integers(-1, 200),
    st.integers(-1, 500),
)
def test_the_answer_is_a_boundary_below_the_watermark_and_keeps_the_size(
    shapes: list[tuple[int, int, int]], watermark: int, now: int, age: int, size: int
) -> None:
    segments, offset = [], 0
    for count, size_bytes, timestamp in shapes:
        offset += count
        segments.append(Segment(offset, size_bytes, timestamp))
    start = new_log_start(segments, watermark, now, age, size)
    if start is None:
        return
    assert start in {segment.next_offset for segment in segments}
    assert start <= watermark
    if age == UNLIMITED:
        assert sum(s.size_bytes for s in segments if s.next_offset > start) >= size
