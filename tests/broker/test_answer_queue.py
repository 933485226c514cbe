"""AnswerQueue: answers leave in order, and none before what it reveals is durable."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker.answer_queue import SIZE, AnswerQueue, UnsentMemory
from broker.limits import UNANSWERED_REQUESTS_MAX, UNSENT_BYTES_HIGH, UNSENT_TOTAL_BYTES_MAX


def frame(body: bytes) -> bytes:
    return SIZE.pack(len(body)) + body


@given(
    st.lists(st.tuples(st.integers(0, 50), st.lists(st.binary(max_size=5), max_size=3))),
    st.lists(st.integers(0, 60), max_size=10).map(sorted),
)
def test_answers_keep_their_order_and_wait_for_their_position(
    answers: list[tuple[int, list[bytes]]], moments: list[int]
) -> None:
    queue = AnswerQueue()
    for position, buffers in answers:
        queue.put(position, buffers)
    sent = b""
    for durable in (*moments, 60):
        sent += b"".join(queue.take_ready(durable))
        if queue:
            assert queue.first_position > durable
    assert sent == b"".join(frame(b"".join(buffers)) for _, buffers in answers)
    assert not queue


def test_a_durable_answer_waits_behind_one_that_is_not() -> None:
    queue = AnswerQueue()
    queue.put(10, [b"first"])
    queue.put(0, [b"second"])
    assert queue.take_ready(9) == []
    assert b"".join(queue.take_ready(10)) == frame(b"first") + frame(b"second")


def test_it_is_full_by_number_and_by_bytes() -> None:
    many = AnswerQueue()
    for _ in range(UNANSWERED_REQUESTS_MAX):
        assert not many.is_full
        many.put(1, [b""])
    assert many.is_full
    large = AnswerQueue()
    large.put(1, [bytes(UNSENT_BYTES_HIGH)])
    assert large.is_full
    large.take_ready(1)
    assert not large.is_full


def test_it_knows_whether_a_write_is_still_on_its_way() -> None:
    queue = AnswerQueue()
    assert not queue.waits_beyond(0)
    queue.put(7, [b""])
    assert queue.waits_beyond(6)
    assert not queue.waits_beyond(7)


def test_unsent_memory_never_goes_below_nothing() -> None:
    unsent = UnsentMemory()
    assert unsent.left_bytes == UNSENT_TOTAL_BYTES_MAX
    unsent.total_bytes = UNSENT_TOTAL_BYTES_MAX + 1
    assert unsent.left_bytes == 0
