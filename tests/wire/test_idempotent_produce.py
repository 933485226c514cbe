"""Idempotent produce: duplicates, sequences, epochs, and the end of the sequence numbers."""

import itertools
import struct
from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.batches import PAST_TIMESTAMP, Record
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    INVALID_PRODUCER_EPOCH,
    INVALID_RECORD,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
)
from tests.wire.support.requests import Topic

VERSIONS = range(3, 14)
WINDOW_BATCHES = 5
MAX_SEQUENCE = 0x7FFFFFFF


_producer_ids = itertools.count(1_000_000)


class Producer:
    """An idempotent producer whose every batch is written by hand."""

    def __init__(self, connection: Connection, topic: Topic) -> None:
        self.connection = connection
        self.topic = topic
        self.id = next(_producer_ids)

    def batch(self, sequence: int, count: int = 1, *, epoch: int = 0, seed: bytes = b"v") -> bytes:
        records = [Record(seed + b"%d" % index) for index in range(count)]
        return batches.build(
            records, producer_id=self.id, producer_epoch=epoch, base_sequence=sequence
        )

    def send(
        self, sequence: int, count: int = 1, *, epoch: int = 0, partition: int = 0, version: int = 9
    ) -> Any:
        return self.send_batch(
            self.batch(sequence, count, epoch=epoch), partition=partition, version=version
        )

    def send_batch(
        self, batch: bytes, *, partition: int = 0, version: int = 9, acks: int = -1
    ) -> Any:
        request = requests.produce(self.topic, {partition: batch}, acks=acks)
        return self.connection.call(request, version).responses[0].partition_responses[0]

    def must_send(self, sequence: int, count: int = 1, *, epoch: int = 0) -> int:
        answer = self.send(sequence, count, epoch=epoch)
        assert answer.error_code == 0
        return int(answer.base_offset)


@pytest.fixture(scope="module")
def topic(broker: Broker) -> Topic:
    """Shared: every producer has its own id, so tests do not meet."""
    return broker.create_topic(partitions=2)


@pytest.fixture
def producer(connection: Connection, topic: Topic) -> Producer:
    return Producer(connection, topic)


def outcome(answer: Any) -> tuple[int, int]:
    return answer.error_code, answer.base_offset


@pytest.mark.parametrize("sequence", [0, 1, 12345, MAX_SEQUENCE])
def test_an_unknown_producer_may_start_at_any_sequence(producer: Producer, sequence: int) -> None:
    assert producer.send(sequence).error_code == 0


@pytest.mark.parametrize("epoch", [0, 5, 32767])
def test_an_unknown_producer_may_start_at_any_epoch(producer: Producer, epoch: int) -> None:
    assert producer.send(7, epoch=epoch).error_code == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_duplicate_returns_the_original_offset_and_writes_nothing(
    producer: Producer, broker: Broker, topic: Topic, version: int
) -> None:
    first = producer.send(0, 3, version=version)
    end = broker.latest(topic)
    again = producer.send(0, 3, version=version)
    assert outcome(again) == outcome(first) == (0, end - 3)
    assert broker.latest(topic) == end


@pytest.mark.parametrize("acks", [1, -1])
def test_a_duplicate_is_found_with_either_acknowledgement(producer: Producer, acks: int) -> None:
    batch = producer.batch(0)
    first = producer.send_batch(batch, acks=acks)
    assert outcome(producer.send_batch(batch, acks=acks)) == outcome(first)


def test_a_duplicate_with_acks_zero_is_silent_and_writes_nothing(
    producer: Producer, broker: Broker, topic: Topic
) -> None:
    producer.must_send(0)
    end = broker.latest(topic)
    request = requests.produce(topic, {0: producer.batch(0)}, acks=0)
    producer.connection.send_without_answer(request, 9)
    assert len(producer.connection.call(requests.metadata(), 9).brokers) == 1
    assert broker.latest(topic) == end


def test_a_duplicate_is_found_on_another_connection(producer: Producer, broker: Broker) -> None:
    batch = producer.batch(0)
    offset = producer.send_batch(batch).base_offset
    assert broker.produce(producer.topic, batch) == offset


@pytest.mark.parametrize("version", range(5, 14))
def test_a_duplicate_tells_the_current_log_start_offset(
    connection: Connection, broker: Broker, version: int
) -> None:
    producer = Producer(connection, broker.create_topic())
    producer.must_send(0, 3)
    broker.delete_records(producer.topic, {0: 2})
    again = producer.send(0, 3, version=version)
    assert outcome(again) == (0, 0)
    assert again.log_start_offset == 2


def test_a_duplicate_tells_its_largest_timestamp_as_append_time(producer: Producer) -> None:
    assert producer.send(0).log_append_time_ms == -1
    assert producer.send(0).log_append_time_ms == PAST_TIMESTAMP


def test_a_duplicate_is_found_after_its_records_were_deleted(
    connection: Connection, broker: Broker
) -> None:
    producer = Producer(connection, broker.create_topic())
    producer.must_send(0, 3)
    broker.delete_records(producer.topic, {0: 3})
    assert outcome(producer.send(0, 3)) == (0, 0)
    assert producer.must_send(3) == 3


def test_each_of_the_last_five_batches_is_a_duplicate(
    producer: Producer, broker: Broker, topic: Topic
) -> None:
    offsets = [producer.must_send(2 * index, 2) for index in range(WINDOW_BATCHES + 1)]
    end = broker.latest(topic)
    for index in range(1, WINDOW_BATCHES + 1):
        assert outcome(producer.send(2 * index, 2)) == (0, offsets[index])
    assert broker.latest(topic) == end


def test_a_batch_older_than_the_last_five_is_out_of_order(producer: Producer) -> None:
    for index in range(WINDOW_BATCHES + 1):
        producer.must_send(index)
    assert outcome(producer.send(0)) == (OUT_OF_ORDER_SEQUENCE_NUMBER, -1)


def test_duplicates_do_not_push_batches_out_of_the_window(producer: Producer) -> None:
    offsets = [producer.must_send(index) for index in range(WINDOW_BATCHES)]
    for _ in range(WINDOW_BATCHES):
        assert outcome(producer.send(WINDOW_BATCHES - 1)) == (0, offsets[-1])
    assert outcome(producer.send(0)) == (0, offsets[0])


def test_the_next_batch_follows_a_duplicate(producer: Producer) -> None:
    offset = producer.must_send(0, 2)
    producer.must_send(0, 2)
    assert producer.must_send(2) == offset + 2


@pytest.mark.parametrize(
    ("sequence", "count"), [(0, 2), (2, 2), (0, 1), (1, 1), (3, 1), (1, 4), (3, 2)]
)
def test_a_batch_cut_otherwise_is_not_a_duplicate(
    producer: Producer, sequence: int, count: int
) -> None:
    producer.must_send(0, 4)
    assert outcome(producer.send(sequence, count)) == (OUT_OF_ORDER_SEQUENCE_NUMBER, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_gap_is_out_of_order(producer: Producer, version: int) -> None:
    producer.must_send(0)
    assert outcome(producer.send(2, version=version)) == (OUT_OF_ORDER_SEQUENCE_NUMBER, -1)


def test_a_refused_batch_changes_nothing(producer: Producer, broker: Broker, topic: Topic) -> None:
    offset = producer.must_send(0)
    assert producer.send(5).error_code == OUT_OF_ORDER_SEQUENCE_NUMBER
    assert broker.latest(topic) == offset + 1
    assert producer.must_send(1) == offset + 1
    assert outcome(producer.send(0)) == (0, offset)


def test_sequences_count_records_not_batches(producer: Producer) -> None:
    producer.must_send(0, 10)
    assert producer.send(1).error_code == OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.send(10, 5).error_code == 0
    assert producer.send(15).error_code == 0


def test_pipelined_batches_after_a_gap_are_all_out_of_order(producer: Producer) -> None:
    producer.must_send(0)
    for sequence in (2, 3, 4):
        request = requests.produce(producer.topic, {0: producer.batch(sequence)})
        producer.connection.send(request, 9)
    answers = [producer.connection.receive().responses[0] for _ in range(3)]
    codes = [one.partition_responses[0].error_code for one in answers]
    assert codes == [OUT_OF_ORDER_SEQUENCE_NUMBER] * 3


def test_pipelined_batches_and_their_retries_are_written_once(
    producer: Producer, broker: Broker, topic: Topic
) -> None:
    start = broker.latest(topic)
    sequences = [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    for sequence in sequences:
        request = requests.produce(topic, {0: producer.batch(sequence)})
        producer.connection.send(request, 9)
    answers = [producer.connection.receive().responses[0] for _ in sequences]
    offsets = [one.partition_responses[0].base_offset for one in answers]
    assert offsets == [start + sequence for sequence in sequences]
    assert broker.latest(topic) == start + 5


def test_partitions_have_sequences_of_their_own(producer: Producer) -> None:
    producer.must_send(0, 3)
    assert producer.send(0, 2, partition=1).error_code == 0
    assert producer.send(2, partition=1).error_code == 0
    assert producer.send(3).error_code == 0


def test_producers_have_sequences_of_their_own(connection: Connection, topic: Topic) -> None:
    first, second = Producer(connection, topic), Producer(connection, topic)
    offsets = [one.must_send(index) for index in range(3) for one in (first, second)]
    assert offsets == list(range(offsets[0], offsets[0] + 6))


def test_a_duplicate_and_a_new_batch_travel_in_one_request(producer: Producer) -> None:
    offset = producer.must_send(0)
    request = requests.produce(producer.topic, {0: producer.batch(0), 1: producer.batch(0)})
    answer = producer.connection.call(request, 9).responses[0].partition_responses
    found = {one.index: one for one in answer}
    assert outcome(found[0]) == (0, offset)
    assert found[1].error_code == 0


def test_plain_batches_are_never_duplicates(broker: Broker, topic: Topic) -> None:
    batch = batches.build([b"plain"])
    assert broker.produce(topic, batch) + 1 == broker.produce(topic, batch)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_epoch_is_refused(producer: Producer, version: int) -> None:
    producer.must_send(0, epoch=3)
    assert outcome(producer.send(1, epoch=2, version=version)) == (INVALID_PRODUCER_EPOCH, -1)


def test_a_retry_from_an_older_epoch_is_refused(producer: Producer) -> None:
    producer.must_send(0, epoch=0)
    producer.must_send(0, epoch=1)
    assert producer.send(0, epoch=0).error_code == INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("epoch", [1, 2, 32767])
def test_a_newer_epoch_starts_again_at_zero(producer: Producer, epoch: int) -> None:
    offset = producer.must_send(0, 5)
    assert producer.must_send(0, 2, epoch=epoch) == offset + 5
    assert producer.must_send(2, epoch=epoch) == offset + 7


@pytest.mark.parametrize("sequence", [1, 5, 6])
def test_a_newer_epoch_must_start_at_zero(producer: Producer, sequence: int) -> None:
    producer.must_send(0, 5)
    answer = producer.send(sequence, epoch=1)
    assert outcome(answer) == (OUT_OF_ORDER_SEQUENCE_NUMBER, -1)


def test_a_refused_newer_epoch_does_not_fence_the_older(producer: Producer) -> None:
    producer.must_send(0)
    assert producer.send(1, epoch=1).error_code == OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.send(1, epoch=0).error_code == 0


def test_the_same_sequences_in_a_newer_epoch_are_new_records(producer: Producer) -> None:
    offset = producer.must_send(0)
    assert producer.must_send(0, epoch=1) == offset + 1
    assert outcome(producer.send(0, epoch=1)) == (0, offset + 1)


def test_epochs_are_kept_by_partition(producer: Producer) -> None:
    producer.must_send(0, epoch=4)
    assert producer.send(0, epoch=2, partition=1).error_code == 0


def test_sequence_zero_follows_the_largest(producer: Producer) -> None:
    offset = producer.must_send(MAX_SEQUENCE - 1, 2)
    assert producer.must_send(0) == offset + 2
    assert producer.must_send(1) == offset + 3


def test_a_gap_after_the_wrap_is_out_of_order(producer: Producer) -> None:
    producer.must_send(MAX_SEQUENCE)
    producer.must_send(0)
    assert producer.send(2).error_code == OUT_OF_ORDER_SEQUENCE_NUMBER


def test_batches_on_both_sides_of_the_wrap_are_duplicates(producer: Producer) -> None:
    offset = producer.must_send(MAX_SEQUENCE)
    producer.must_send(0)
    assert outcome(producer.send(MAX_SEQUENCE)) == (0, offset)
    assert outcome(producer.send(0)) == (0, offset + 1)


def test_zero_does_not_follow_the_last_but_one(producer: Producer) -> None:
    producer.must_send(MAX_SEQUENCE - 1)
    assert producer.send(0).error_code == OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_inside_a_batch(producer: Producer) -> None:
    offset = producer.must_send(MAX_SEQUENCE - 1, 4)  # ends at sequence 1
    assert outcome(producer.send(MAX_SEQUENCE - 1, 4)) == (0, offset)
    assert producer.send(1).error_code == OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.must_send(2) == offset + 4


def test_the_stored_batch_keeps_its_producer_fields(connection: Connection, broker: Broker) -> None:
    producer = Producer(connection, broker.create_topic())
    producer.must_send(7, 2, epoch=3)
    header = batches.header_of(broker.stored(producer.topic))
    found = (header["producer_id"], header["producer_epoch"], header["base_sequence"])
    assert found == (producer.id, 3, 7)


@pytest.mark.oncelog_only
@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_sequences_with_other_bytes_are_refused(
    producer: Producer, broker: Broker, topic: Topic, version: int
) -> None:
    producer.must_send(0, 2)
    end = broker.latest(topic)
    other = producer.batch(0, 2, seed=b"other")
    answer = producer.send_batch(other, version=version)
    assert outcome(answer) == (INVALID_RECORD, -1)
    if version >= 8:
        assert "conflicting_duplicate" in answer.error_message
    assert broker.latest(topic) == end
    assert producer.must_send(2) == end


@pytest.mark.oncelog_only
def test_a_conflict_is_found_in_the_whole_window(producer: Producer) -> None:
    for index in range(WINDOW_BATCHES):
        producer.must_send(index)
    for index in range(WINDOW_BATCHES):
        answer = producer.send_batch(producer.batch(index, seed=b"other"))
        assert answer.error_code == INVALID_RECORD


def test_a_retry_may_carry_another_leader_epoch_hint(producer: Producer) -> None:
    batch = producer.batch(0)
    offset = producer.send_batch(batch).base_offset
    hinted = bytearray(batch)
    struct.pack_into(">i", hinted, 12, 9)  # outside the CRC: the broker sets it
    assert outcome(producer.send_batch(bytes(hinted))) == (0, offset)
