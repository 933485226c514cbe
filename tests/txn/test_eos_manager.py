"""EosManager against the table of sequence rules, and against an independent model."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ErrorCode
from protocol.record_batch import BatchHeader
from txn.eos_manager import (
    CONFLICTING_DUPLICATE,
    REMEMBERED_BATCHES_MAX,
    SEQUENCE_MAX,
    Duplicate,
    EosManager,
    ProducerState,
    Refused,
    RememberedBatch,
    Verdict,
)

PRODUCER = 7


def batch(
    sequence: int, count: int = 1, epoch: int = 0, producer_id: int = PRODUCER
) -> BatchHeader:
    return BatchHeader(
        0, 100, -1, 2, 0, 0, count - 1, 0, 5_000, producer_id, epoch, sequence, count
    )


def store(manager: EosManager, header: BatchHeader, offset: int, crc: int = 1) -> None:
    assert manager.decide(header, crc) is None
    manager.apply(header, offset, crc, now_ms=1_000)


def error_of(verdict: Verdict) -> ErrorCode:
    assert isinstance(verdict, Refused)
    return verdict.error


@pytest.mark.parametrize("sequence", [0, 1, 4_711, SEQUENCE_MAX])
def test_unknown_producer_may_start_at_any_sequence(sequence: int) -> None:
    assert EosManager().decide(batch(sequence), 1) is None


def test_next_sequence_is_accepted_and_counts_records() -> None:
    manager = EosManager()
    store(manager, batch(0, count=10), 0)
    store(manager, batch(10, count=5), 10)
    assert manager.producers[PRODUCER].last_sequence == 14


def test_duplicate_gets_its_original_offset() -> None:
    manager = EosManager()
    store(manager, batch(0, count=3), 40)
    assert manager.decide(batch(0, count=3), 1) == Duplicate(40, 5_000)


def test_five_batches_are_remembered_and_the_sixth_is_not() -> None:
    manager = EosManager()
    for index in range(REMEMBERED_BATCHES_MAX + 1):
        store(manager, batch(index), 100 + index)
    for index in range(1, REMEMBERED_BATCHES_MAX + 1):
        assert manager.decide(batch(index), 1) == Duplicate(100 + index, 5_000)
    assert error_of(manager.decide(batch(0), 1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_same_sequences_with_other_bytes_are_refused() -> None:
    manager = EosManager()
    store(manager, batch(0), 0, crc=1)
    verdict = manager.decide(batch(0), 2)
    assert verdict == Refused(ErrorCode.INVALID_RECORD, CONFLICTING_DUPLICATE)


def test_a_batch_cut_differently_is_no_duplicate() -> None:
    manager = EosManager()
    store(manager, batch(0, count=4), 0)
    assert error_of(manager.decide(batch(0, count=2), 1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("sequence", [0, 2, 100])
def test_a_gap_is_out_of_order(sequence: int) -> None:
    manager = EosManager()
    store(manager, batch(5), 0)
    assert error_of(manager.decide(batch(sequence), 1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_older_epoch_is_invalid_even_for_a_known_batch() -> None:
    manager = EosManager()
    store(manager, batch(0, epoch=3), 0)
    assert error_of(manager.decide(batch(0, epoch=2), 1)) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_newer_epoch_starts_at_zero_and_forgets_the_old_batches() -> None:
    manager = EosManager()
    store(manager, batch(0), 0)
    verdict = manager.decide(batch(1, epoch=1), 1)
    assert error_of(verdict) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    store(manager, batch(0, epoch=1), 1)
    assert [known.base_offset for known in manager.producers[PRODUCER].batches] == [1]


def test_an_epoch_without_batches_accepts_only_sequence_zero() -> None:
    manager = EosManager()
    manager.restore(PRODUCER, ProducerState(producer_epoch=4, last_append_ms=0))
    assert manager.decide(batch(0, epoch=4), 1) is None
    assert error_of(manager.decide(batch(1, epoch=4), 1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_between_batches_and_inside_one() -> None:
    manager = EosManager()
    store(manager, batch(SEQUENCE_MAX), 0)
    store(manager, batch(0), 1)
    other = EosManager()
    store(other, batch(SEQUENCE_MAX - 1, count=4), 0)
    assert other.producers[PRODUCER].last_sequence == 1
    store(other, batch(2), 4)


def test_producers_do_not_touch_each_other() -> None:
    manager = EosManager()
    store(manager, batch(0, producer_id=1), 0)
    store(manager, batch(9, producer_id=2), 1)
    assert manager.decide(batch(1, producer_id=1), 1) is None


def test_expiry_counts_from_the_last_append() -> None:
    manager = EosManager()
    manager.apply(batch(0, producer_id=1), 0, 1, now_ms=1_000)
    manager.apply(batch(0, producer_id=2), 1, 1, now_ms=2_000)
    assert manager.expired(now_ms=2_500, expiration_ms=1_000) == [1]
    manager.forget([1])
    assert list(manager.producers) == [2]


def test_changed_producers_are_told_once() -> None:
    manager = EosManager()
    store(manager, batch(0), 0)
    assert [producer_id for producer_id, _ in manager.take_changed()] == [PRODUCER]
    assert list(manager.take_changed()) == []
    manager.forget([PRODUCER])
    assert list(manager.take_changed()) == [(PRODUCER, None)]


class Model:
    """The rules once more, in the simplest form, with a plain window of what was stored."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.window: deque[tuple[int, int, int, int]] = deque(maxlen=5)

    def judge(self, first: int, count: int, epoch: int, crc: int) -> str | int:
        last = (first + count - 1) % (SEQUENCE_MAX + 1)
        if self.epoch is None:
            return "accept"
        if epoch < self.epoch:
            return "fenced"
        if epoch > self.epoch:
            return "accept" if first == 0 else "gap"
        for known_first, known_last, known_crc, offset in self.window:
            if (known_first, known_last) == (first, last):
                return offset if known_crc == crc else "conflict"
        expected = (self.window[-1][1] + 1) % (SEQUENCE_MAX + 1) if self.window else 0
        return "accept" if first == expected else "gap"

    def keep(self, first: int, count: int, epoch: int, crc: int, offset: int) -> None:
        if epoch != self.epoch:
            self.window.clear()
        self.epoch = epoch
        last = (first + count - 1) % (SEQUENCE_MAX + 1)
        self.window.append((first, last, crc, offset))


def outcome(verdict: Verdict) -> str | int:
    if verdict is None:
        return "accept"
    if isinstance(verdict, Duplicate):
        return verdict.base_offset
    if verdict.message == CONFLICTING_DUPLICATE:
        return "conflict"
    return "fenced" if verdict.error == ErrorCode.INVALID_PRODUCER_EPOCH else "gap"


step = st.tuples(
    st.sampled_from([-6, -5, -4, -3, -2, -1, 0, 0, 0, 0, 1, 2]),
    st.integers(1, 3),
    st.integers(-1, 1),
    st.integers(0, 1),
)


@given(st.integers(0, SEQUENCE_MAX), st.lists(step, max_size=40))
def test_decisions_equal_the_model(start: int, steps: list[tuple[int, int, int, int]]) -> None:
    manager, model, offset, epoch = EosManager(), Model(), 0, 5
    position = start
    for jump, count, epoch_jump, crc in steps:
        first = (position + jump) % (SEQUENCE_MAX + 1)
        tried_epoch = max(epoch + epoch_jump, 0)
        if epoch_jump > 0 and jump == 0:
            first = 0
        header = batch(first, count, tried_epoch)
        expected = model.judge(first, count, tried_epoch, crc)
        assert outcome(manager.decide(header, crc)) == expected
        if expected == "accept":
            manager.apply(header, offset, crc, 0)
            model.keep(first, count, tried_epoch, crc, offset)
            offset += count
            epoch = tried_epoch
            position = (first + count) % (SEQUENCE_MAX + 1)


@given(st.lists(st.integers(1, 4), max_size=12))
def test_restoring_the_remembered_batches_gives_the_same_decisions(counts: list[int]) -> None:
    manager, sequence = EosManager(), 0
    for count in counts:
        manager.apply(batch(sequence, count), sequence, 3, 0)
        sequence += count
    again = EosManager()
    for producer_id, state in manager.producers.items():
        copies = [RememberedBatch(*known) for known in state.batches]
        again.restore(producer_id, ProducerState(state.producer_epoch, 0, copies))
    for first in range(sequence + 2):
        for count in range(1, 5):
            header = batch(first, count)
            assert manager.decide(header, 3) == again.decide(header, 3)
