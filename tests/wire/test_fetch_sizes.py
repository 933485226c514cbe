"""Fetch: byte limits, and the batch that is sent whatever the limits say."""

from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.requests import FetchFrom, Topic

BATCH_BYTES = 1000
BATCHES = 5
PARTITIONS = 3
VERSIONS = [4, 7, 12, 13, 18]


@pytest.fixture(scope="module")
def topic(broker: Broker) -> Topic:
    """Three partitions, each with five batches of exactly 1000 bytes and one record."""
    made = broker.create_topic(partitions=PARTITIONS)
    batch = batches.batch_of_size(BATCH_BYTES)
    for partition in range(PARTITIONS):
        for _ in range(BATCHES):
            broker.produce(made, batch, partition=partition)
    return made


def all_partitions(topic: Topic, **more: Any) -> list[FetchFrom]:
    return [FetchFrom(topic, 0, partition, **more) for partition in range(PARTITIONS)]


def whole_batches(connection: Connection, request: Any, version: int) -> list[int]:
    """How many whole batches each partition returned, in the order of the answer."""
    answer = connection.call(request, version)
    found = [one for part in answer.responses for one in part.partitions]
    assert all(one.error_code == 0 for one in found)
    return [len(batches.split(bytes(one.records))) for one in found]


@pytest.mark.parametrize("version", VERSIONS)
def test_everything_comes_when_there_is_room(
    connection: Connection, topic: Topic, version: int
) -> None:
    request = requests.fetch(*all_partitions(topic))
    assert whole_batches(connection, request, version) == [BATCHES] * PARTITIONS


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("max_bytes", [0, 1, BATCH_BYTES - 1])
def test_the_first_batch_comes_even_if_it_is_larger_than_the_partition_limit(
    connection: Connection, topic: Topic, version: int, max_bytes: int
) -> None:
    request = requests.fetch(FetchFrom(topic, max_bytes=max_bytes))
    assert whole_batches(connection, request, version) == [1]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("max_bytes", [0, 1, BATCH_BYTES - 1])
def test_the_first_batch_comes_even_if_it_is_larger_than_the_request_limit(
    connection: Connection, topic: Topic, version: int, max_bytes: int
) -> None:
    request = requests.fetch(*all_partitions(topic), max_bytes=max_bytes)
    assert whole_batches(connection, request, version) == [1, 0, 0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("max_bytes", "expected"),
    [(BATCH_BYTES, 1), (2 * BATCH_BYTES - 1, 1), (2 * BATCH_BYTES, 2), (4 * BATCH_BYTES + 1, 4)],
)
def test_the_partition_limit_bounds_each_partition(
    connection: Connection, topic: Topic, version: int, max_bytes: int, expected: int
) -> None:
    request = requests.fetch(*all_partitions(topic, max_bytes=max_bytes))
    assert whole_batches(connection, request, version) == [expected] * PARTITIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_the_request_limit_is_spent_in_the_order_asked(
    connection: Connection, topic: Topic, version: int
) -> None:
    order = [FetchFrom(topic, 0, partition) for partition in (2, 0, 1)]
    request = requests.fetch(*order, max_bytes=7 * BATCH_BYTES)
    assert whole_batches(connection, request, version) == [5, 2, 0]


def test_the_limits_of_partition_and_request_hold_together(
    connection: Connection, topic: Topic
) -> None:
    partitions = all_partitions(topic, max_bytes=2 * BATCH_BYTES)
    request = requests.fetch(*partitions, max_bytes=5 * BATCH_BYTES)
    assert whole_batches(connection, request, 12) == [2, 2, 1]


def test_an_empty_first_partition_leaves_the_guaranteed_batch_to_the_next(
    connection: Connection, topic: Topic
) -> None:
    partitions = [FetchFrom(topic, BATCHES, 0), FetchFrom(topic, 0, 1), FetchFrom(topic, 0, 2)]
    request = requests.fetch(*partitions, max_bytes=1)
    assert whole_batches(connection, request, 12) == [0, 1, 0]


@pytest.mark.parametrize("max_bytes", [BATCH_BYTES, 2 * BATCH_BYTES + 500])
def test_no_more_bytes_come_than_the_limit(
    connection: Connection, topic: Topic, max_bytes: int
) -> None:
    request = requests.fetch(*all_partitions(topic), max_bytes=max_bytes)
    answer = connection.call(request, 12)
    total = sum(len(one.records) for part in answer.responses for one in part.partitions)
    assert total <= max_bytes


def test_a_large_log_is_read_to_its_end_in_small_fetches(
    connection: Connection, topic: Topic
) -> None:
    offset = 0
    bases = []
    while offset < BATCHES:
        answer = connection.call(requests.fetch(FetchFrom(topic, offset, max_bytes=1500)), 12)
        found = batches.offsets(bytes(answer.responses[0].partitions[0].records))
        bases += [base for base, _ in found]
        offset = found[-1][1] + 1
    assert bases == list(range(BATCHES))
