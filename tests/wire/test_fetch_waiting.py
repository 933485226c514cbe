"""Fetch: when an answer waits, and what wakes it.

No clock is read here. A wait that must be cut short asks for far longer than the connection's own
deadline, so that a broker which sleeps through the event fails the test by silence.
"""

import uuid
from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.broker import Broker
from tests.wire.support.connection import ANSWER_TIMEOUT_SECONDS, Connection
from tests.wire.support.error_codes import (
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_LEADER_EPOCH,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.wire.support.requests import READ_COMMITTED, READ_UNCOMMITTED, FetchFrom, Topic

VERSIONS = [4, 7, 12, 13, 18]
LONG_WAIT_MS = int(ANSWER_TIMEOUT_SECONDS * 1000) * 4
SHORT_WAIT_MS = 30


BATCH = batches.build([b"wake up"])


@pytest.fixture
def topic(broker: Broker) -> Topic:
    return broker.create_topic(partitions=2)


def partitions_of(answer: Any) -> list[Any]:
    return [one for topic in answer.responses for one in topic.partitions]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("isolation_level", [READ_UNCOMMITTED, READ_COMMITTED])
def test_a_produce_wakes_a_waiting_fetch(
    connection: Connection, broker: Broker, topic: Topic, version: int, isolation_level: int
) -> None:
    request = requests.fetch(
        FetchFrom(topic), max_wait_ms=LONG_WAIT_MS, isolation_level=isolation_level
    )
    connection.send(request, version)
    broker.produce(topic, BATCH)
    found = partitions_of(connection.receive())[0]
    assert batches.offsets(bytes(found.records)) == [(0, 0)]
    assert found.high_watermark == 1


def test_a_produce_to_any_of_its_partitions_wakes_a_waiting_fetch(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    waiting = requests.fetch(
        FetchFrom(topic, 0, 0), FetchFrom(topic, 0, 1), max_wait_ms=LONG_WAIT_MS
    )
    connection.send(waiting, 12)
    broker.produce(topic, BATCH, partition=1)
    sizes = [len(batches.split(bytes(one.records))) for one in partitions_of(connection.receive())]
    assert sizes == [0, 1]


def test_one_produce_wakes_every_waiting_fetch(broker: Broker, topic: Topic) -> None:
    with broker.connect() as first, broker.connect() as second, broker.connect() as third:
        waiting = [first, second, third]
        for one in waiting:
            one.send(requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS), 12)
        broker.produce(topic, BATCH)
        for one in waiting:
            found = partitions_of(one.receive())[0]
            assert batches.offsets(bytes(found.records)) == [(0, 0)]


def test_a_waiting_fetch_wakes_only_when_there_are_enough_bytes(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    request = requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS, min_bytes=3 * len(BATCH))
    connection.send(request, 12)
    for _ in range(3):
        broker.produce(topic, BATCH)
    found = partitions_of(connection.receive())[0]
    assert batches.offsets(bytes(found.records)) == [(0, 0), (1, 1), (2, 2)]


def test_bytes_of_several_partitions_count_together(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    request = requests.fetch(
        FetchFrom(topic, 0, 0),
        FetchFrom(topic, 0, 1),
        max_wait_ms=LONG_WAIT_MS,
        min_bytes=2 * len(BATCH),
    )
    connection.send(request, 12)
    broker.produce(topic, BATCH, partition=0)
    broker.produce(topic, BATCH, partition=1)
    sizes = [len(batches.split(bytes(one.records))) for one in partitions_of(connection.receive())]
    assert sizes == [1, 1]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fetch_that_waited_in_vain_is_answered_empty(
    connection: Connection, topic: Topic, version: int
) -> None:
    answer = connection.call(requests.fetch(FetchFrom(topic), max_wait_ms=SHORT_WAIT_MS), version)
    found = partitions_of(answer)[0]
    assert (found.error_code, found.high_watermark, found.records) == (0, 0, b"")


def test_too_few_bytes_are_sent_when_the_wait_is_over(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    broker.produce(topic, BATCH)
    request = requests.fetch(
        FetchFrom(topic), max_wait_ms=SHORT_WAIT_MS, min_bytes=100 * len(BATCH)
    )
    found = partitions_of(connection.call(request, 12))[0]
    assert batches.offsets(bytes(found.records)) == [(0, 0)]


@pytest.mark.parametrize("version", VERSIONS)
def test_enough_bytes_are_sent_at_once(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    broker.produce(topic, BATCH)
    request = requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS, min_bytes=len(BATCH))
    found = partitions_of(connection.call(request, version))[0]
    assert batches.offsets(bytes(found.records)) == [(0, 0)]


@pytest.mark.parametrize("version", VERSIONS)
def test_zero_min_bytes_never_waits(connection: Connection, topic: Topic, version: int) -> None:
    request = requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS, min_bytes=0)
    assert partitions_of(connection.call(request, version))[0].records == b""


@pytest.mark.parametrize("max_wait_ms", [0, -1])
def test_without_a_wait_the_answer_comes_at_once(
    connection: Connection, topic: Topic, max_wait_ms: int
) -> None:
    request = requests.fetch(FetchFrom(topic), max_wait_ms=max_wait_ms, min_bytes=1 << 30)
    assert partitions_of(connection.call(request, 12))[0].records == b""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fetch_without_partitions_is_answered_at_once(
    connection: Connection, version: int
) -> None:
    answer = connection.call(requests.fetch(max_wait_ms=LONG_WAIT_MS), version)
    assert answer.error_code == 0
    assert answer.responses == []


def test_an_unknown_partition_alone_is_answered_at_once(
    connection: Connection, topic: Topic
) -> None:
    request = requests.fetch(FetchFrom(topic, 0, 9), max_wait_ms=LONG_WAIT_MS)
    answer = connection.call(request, 12)
    assert partitions_of(answer)[0].error_code == UNKNOWN_TOPIC_OR_PARTITION


def test_a_wrong_leader_epoch_is_answered_at_once(connection: Connection, topic: Topic) -> None:
    wrong = FetchFrom(topic, 0, 1, current_leader_epoch=99)
    request = requests.fetch(FetchFrom(topic, 0, 0), wrong, max_wait_ms=LONG_WAIT_MS)
    codes = {
        one.partition_index: one.error_code for one in partitions_of(connection.call(request, 12))
    }
    assert codes == {0: 0, 1: UNKNOWN_LEADER_EPOCH}


def test_an_unknown_topic_alone_is_answered_at_once(connection: Connection) -> None:
    unknown = FetchFrom(Topic("", uuid.uuid4()))
    answer = connection.call(requests.fetch(unknown, max_wait_ms=LONG_WAIT_MS), 13)
    assert partitions_of(answer)[0].error_code == UNKNOWN_TOPIC_ID


def test_an_offset_out_of_range_is_answered_at_once(connection: Connection, topic: Topic) -> None:
    partitions = [FetchFrom(topic, 0, 0), FetchFrom(topic, 5, 1)]
    answer = connection.call(requests.fetch(*partitions, max_wait_ms=LONG_WAIT_MS), 12)
    codes = {one.partition_index: one.error_code for one in partitions_of(answer)}
    assert codes == {0: 0, 1: OFFSET_OUT_OF_RANGE}


def test_a_waiting_fetch_holds_back_no_other_connection(broker: Broker, topic: Topic) -> None:
    with broker.connect() as waiting, broker.connect() as busy:
        waiting.send(requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS), 12)
        assert len(busy.call(requests.metadata(), 9).brokers) == 1


def test_a_client_that_leaves_while_waiting_harms_nobody(broker: Broker, topic: Topic) -> None:
    with broker.connect() as leaver:
        leaver.send(requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS), 12)
    assert broker.produce(topic, BATCH) == 0
    assert batches.offsets(broker.stored(topic)) == [(0, 0)]


def test_a_fetch_is_answered_before_what_was_sent_after_it(
    connection: Connection, topic: Topic
) -> None:
    connection.send(requests.fetch(FetchFrom(topic), max_wait_ms=SHORT_WAIT_MS), 12)
    connection.send(requests.metadata(), 9)
    assert partitions_of(connection.receive())[0].records == b""
    assert len(connection.receive().brokers) == 1


@pytest.mark.oncelog_only
@pytest.mark.parametrize("wait", [0, 1, 2, 3])
def test_a_waiting_fetch_is_answered_empty_as_soon_as_another_request_arrives(
    connection: Connection, broker: Broker, topic: Topic, wait: int
) -> None:
    connection.send(requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS), 12)
    for _ in range(wait):  # round trips elsewhere: the fetch is surely parked by then
        broker.node_id()
    connection.send(requests.metadata(), 9)
    found = partitions_of(connection.receive())[0]
    assert (found.error_code, found.records) == (0, b"")
    assert len(connection.receive().brokers) == 1


@pytest.mark.oncelog_only
def test_a_fetch_with_another_request_right_behind_it_does_not_wait(
    connection: Connection, topic: Topic
) -> None:
    fetch = requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS)
    both = connection.encode(fetch, 12) + connection.encode(requests.metadata(), 9)
    connection.send_bytes(both)
    assert partitions_of(connection.receive())[0].records == b""
    assert len(connection.receive().brokers) == 1


@pytest.mark.oncelog_only
def test_half_a_request_behind_a_waiting_fetch_changes_no_answer(
    connection: Connection, topic: Topic
) -> None:
    connection.send(requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS), 12)
    second = connection.encode(requests.metadata(), 9)
    connection.send_bytes(second[:7])
    connection.send_bytes(second[7:])
    assert partitions_of(connection.receive())[0].records == b""
    assert len(connection.receive().brokers) == 1


@pytest.mark.oncelog_only
def test_a_second_fetch_on_a_connection_ends_the_wait_of_the_first(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    for _ in range(2):
        connection.send(requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS), 12)
    assert partitions_of(connection.receive())[0].records == b""
    broker.produce(topic, BATCH)
    found = partitions_of(connection.receive())[0]
    assert batches.offsets(bytes(found.records)) == [(0, 0)]


@pytest.mark.oncelog_only
def test_a_produce_behind_a_waiting_fetch_on_its_own_connection_is_answered(
    connection: Connection, topic: Topic
) -> None:
    connection.send(requests.fetch(FetchFrom(topic), max_wait_ms=LONG_WAIT_MS), 12)
    connection.send(requests.produce(topic, {0: BATCH}), 12)
    assert partitions_of(connection.receive())[0].error_code == 0
    assert connection.receive().responses[0].partition_responses[0].base_offset == 0
