"""EosManager: what one partition remembers of its producers, and what it decides about their
batches.

Owns: per producer id the epoch and the last five batches (sequences, offset, CRC).
Never knows:
files, clocks, topics, other partitions. Time comes in as an argument.

Theory of operation. A producer numbers its records; a batch carries the number of its first
record. `decide` looks at a batch header and says one of three things: accepted, duplicate (here is
the offset it got the first time) or refused (this error). It changes nothing. `apply` is called
once for each batch that went into the journal, live and during recovery alike, and is the only
thing that changes state.

Two rules go beyond Apache Kafka:
- all five remembered batches survive a restart, not one, because they live in the journal and
  checkpoint;
- the CRC is remembered too. The same sequence range with other bytes is not a retry but a producer
  that lost its mind (two processes sharing an id, a copied state file); Kafka would answer
  "success, stored before" and silently drop the new data. Here it is refused:
  `conflicting_duplicate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from protocol.errors import ErrorCode
from protocol.record_batch import BatchHeader

REMEMBERED_BATCHES_MAX = 5
SEQUENCE_MAX = 2_147_483_647
NO_PRODUCER_ID = -1
CONFLICTING_DUPLICATE = "conflicting_duplicate"


class RememberedBatch(NamedTuple):
    """One batch as far as a retry of it must be recognised."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    max_timestamp: int
    crc: int


class Duplicate(NamedTuple):
    """The batch is stored already; answer with what it got the first time."""

    base_offset: int
    max_timestamp: int


class Refused(NamedTuple):
    """The batch must not be stored."""

    error: ErrorCode
    message: str


Verdict = Duplicate | Refused | None
"""None means accepted: the common case costs no object."""


class ProducerState:
    """What a partition knows of one producer id."""

    __slots__ = ("batches", "last_append_ms", "producer_epoch")

    def __init__(
        self,
        producer_epoch: int,
        last_append_ms: int,
        batches: Iterable[RememberedBatch] = (),
    ) -> None:
        self.producer_epoch = producer_epoch
        self.last_append_ms = last_append_ms
        self.batches: list[RememberedBatch] = list(batches)

    @property
    def last_sequence(self) -> int:
        """Sequence of the last stored record, -1 when none is remembered."""
        return self.batches[-1].last_sequence if self.batches else -1


def next_sequence(sequence: int) -> int:
    """Sequences count up to 2^31-1 and then start at 0 again."""
    return 0 if sequence == SEQUENCE_MAX else sequence + 1


class EosManager:
    """The producers of one partition."""

    __slots__ = ("_changed", "producers")

    def __init__(self) -> None:
        self.producers: dict[int, ProducerState] = {}
        self._changed: set[int] = set()

    def decide(self, batch: BatchHeader, crc: int) -> Verdict:
        """Judge a batch that carries a producer id. Order of tests as in Kafka: duplicate first."""
        state = self.producers.get(batch.producer_id)
        if state is None:
            # Nothing known: the state may have expired, or the partition's data was deleted.
            # Kafka accepts any first sequence here since 2.x, and clients rely on it.
            return None
        if batch.producer_epoch == state.producer_epoch:
            return self._decide_same_epoch(state, batch, crc)
        if batch.producer_epoch < state.producer_epoch:
            return Refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {batch.producer_id} has epoch {batch.producer_epoch}, "
                f"the partition has seen {state.producer_epoch}",
            )
        if batch.base_sequence != 0:
            return _out_of_order(batch, 0)
        return None

    def _decide_same_epoch(self, state: ProducerState, batch: BatchHeader, crc: int) -> Verdict:
        batches = state.batches
        if not batches:
            return None if batch.base_sequence == 0 else _out_of_order(batch, 0)
        expected = next_sequence(batches[-1].last_sequence)
        if batch.base_sequence == expected:
            # No remembered batch starts where the next one should (five batches cannot hold 2^31
            # records), so testing this first gives the same answer and saves the search.
            return None
        last_sequence = batch.last_sequence
        for known in reversed(batches):
            if known.first_sequence == batch.base_sequence and known.last_sequence == last_sequence:
                if known.crc != crc:
                    return Refused(ErrorCode.INVALID_RECORD, CONFLICTING_DUPLICATE)
                return Duplicate(known.base_offset, known.max_timestamp)
        return _out_of_order(batch, expected)

    def apply(self, batch: BatchHeader, base_offset: int, crc: int, now_ms: int) -> None:
        """Remember a stored batch; live and recovery run this code, nothing is checked here."""
        producer_id = batch.producer_id
        state = self.producers.get(producer_id)
        if state is None:
            state = self.producers[producer_id] = ProducerState(batch.producer_epoch, now_ms)
        elif state.producer_epoch != batch.producer_epoch:
            state.producer_epoch = batch.producer_epoch
            state.batches.clear()
        batches = state.batches
        if len(batches) == REMEMBERED_BATCHES_MAX:
            del batches[0]
        batches.append(
            RememberedBatch(
                batch.base_sequence, batch.last_sequence, base_offset, batch.max_timestamp, crc
            )
        )
        state.last_append_ms = now_ms
        self._changed.add(producer_id)

    def expired(self, now_ms: int, expiration_ms: int) -> list[int]:
        """Producer ids silent for so long that they may be forgotten.

        Counted from the wall clock of the append, not from the records' timestamps as Kafka does:
        replayed old data must not make the protection of that very data expire at once.
        """
        horizon = now_ms - expiration_ms
        return [
            producer_id
            for producer_id, state in self.producers.items()
            if state.last_append_ms <= horizon
        ]

    def forget(self, producer_ids: Iterable[int]) -> None:
        """Drop producers; the counterpart of `expired` once that decision is in the journal."""
        for producer_id in producer_ids:
            if self.producers.pop(producer_id, None) is not None:
                self._changed.add(producer_id)

    def restore(self, producer_id: int, state: ProducerState) -> None:
        """Take over a state from a checkpoint."""
        self.producers[producer_id] = state

    def mark_changed(self, producer_id: int) -> None:
        """Tell of this producer at the next `take_changed` again: the last telling was lost."""
        self._changed.add(producer_id)

    def take_changed(self) -> Iterator[tuple[int, ProducerState | None]]:
        """Producers changed since the last call (None = forgotten), for the checkpoint."""
        changed, self._changed = self._changed, set()
        return ((producer_id, self.producers.get(producer_id)) for producer_id in changed)


def _out_of_order(batch: BatchHeader, expected: int) -> Refused:
    return Refused(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {batch.producer_id} sent sequence {batch.base_sequence}, expected {expected}",
    )
