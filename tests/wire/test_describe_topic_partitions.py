"""DescribeTopicPartitions: topics in order of name, in pages."""

from typing import Any

import pytest

from tests.wire.support import messages
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    INVALID_REQUEST,
    INVALID_TOPIC,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.wire.support.requests import Topic

PARTITIONS = 3


@pytest.fixture(scope="module")
def topics(broker: Broker) -> list[Topic]:
    """Three topics of three partitions, in order of name."""
    prefix = broker.unique_name()
    return [
        broker.create_topic(name=f"{prefix}-{letter}", partitions=PARTITIONS) for letter in "abc"
    ]


def ask(
    connection: Connection,
    *names: str,
    limit: int = 2000,
    cursor: tuple[str, int] | None = None,
) -> Any:
    request_class = messages.DescribeTopicPartitionsRequest
    start = None
    if cursor is not None:
        start = request_class.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    request = request_class(
        topics=[request_class.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=start,
    )
    return connection.call(request, 0)


def told(answer: Any) -> list[tuple[str, list[int]]]:
    return [(one.name, [part.partition_index for part in one.partitions]) for one in answer.topics]


def next_of(answer: Any) -> tuple[str, int] | None:
    cursor = answer.next_cursor
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


def test_a_topic_is_described(connection: Connection, broker: Broker, topics: list[Topic]) -> None:
    answer = ask(connection, topics[0].name)
    assert (answer.throttle_time_ms, answer.next_cursor) == (0, None)
    (found,) = answer.topics
    assert (found.error_code, found.name, found.topic_id) == (0, topics[0].name, topics[0].id)
    assert not found.is_internal
    node_id = broker.node_id()
    for partition in found.partitions:
        assert (partition.error_code, partition.leader_id) == (0, node_id)
        assert partition.leader_epoch >= 0
        assert (partition.replica_nodes, partition.isr_nodes) == ([node_id], [node_id])
        assert partition.offline_replicas == []
        assert not partition.eligible_leader_replicas
        assert not partition.last_known_elr


def test_topics_come_in_order_of_name(connection: Connection, topics: list[Topic]) -> None:
    names = [topic.name for topic in topics]
    answer = ask(connection, names[2], names[0], names[1])
    assert told(answer) == [(name, [0, 1, 2]) for name in names]


def test_an_empty_list_means_every_topic(connection: Connection, topics: list[Topic]) -> None:
    first = topics[0].name
    answer = ask(connection, cursor=(first, 0), limit=2 * PARTITIONS)
    assert told(answer)[:2] == [(first, [0, 1, 2]), (topics[1].name, [0, 1, 2])]


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 8])
def test_pages_cover_everything_once(
    connection: Connection, topics: list[Topic], limit: int
) -> None:
    names = [topic.name for topic in topics]
    seen: list[tuple[str, int]] = []
    cursor = None
    while True:
        answer = ask(connection, *names, limit=limit, cursor=cursor)
        page = [(name, index) for name, parts in told(answer) for index in parts]
        assert 1 <= len(page) <= limit
        seen += page
        cursor = next_of(answer)
        if cursor is None:
            break
    assert seen == [(name, index) for name in names for index in range(PARTITIONS)]


def test_the_next_cursor_points_at_the_first_partition_left(
    connection: Connection, topics: list[Topic]
) -> None:
    names = [topic.name for topic in topics]
    assert next_of(ask(connection, *names, limit=2)) == (names[0], 2)
    assert next_of(ask(connection, *names, limit=4)) == (names[1], 1)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_senseless_limit_still_tells_one_partition(
    connection: Connection, topics: list[Topic], limit: int
) -> None:
    answer = ask(connection, topics[0].name, limit=limit)
    assert told(answer) == [(topics[0].name, [0])]
    assert next_of(answer) == (topics[0].name, 1)


def test_authorized_operations_are_always_told(connection: Connection, topics: list[Topic]) -> None:
    (found,) = ask(connection, topics[0].name).topics
    read_write_describe = 1 << 3 | 1 << 4 | 1 << 8
    assert found.topic_authorized_operations & read_write_describe == read_write_describe


def test_a_cursor_starts_in_the_middle_of_a_topic(
    connection: Connection, topics: list[Topic]
) -> None:
    names = [topic.name for topic in topics]
    answer = ask(connection, *names, cursor=(names[1], 2))
    assert told(answer) == [(names[1], [2]), (names[2], [0, 1, 2])]


def test_an_unknown_topic_is_an_error(
    connection: Connection, broker: Broker, topics: list[Topic]
) -> None:
    unknown = broker.unique_name()
    answer = ask(connection, unknown, topics[0].name)
    codes = {one.name: one.error_code for one in answer.topics}
    assert codes == {unknown: UNKNOWN_TOPIC_OR_PARTITION, topics[0].name: 0}
    assert not broker.exists(unknown)


def test_a_bad_name_is_an_error(connection: Connection) -> None:
    (found,) = ask(connection, "bad name").topics
    assert (found.error_code, found.partitions) == (INVALID_TOPIC, [])


def test_a_topic_named_twice_is_told_once(connection: Connection, topics: list[Topic]) -> None:
    assert len(ask(connection, topics[0].name, topics[0].name).topics) == 1


def test_the_cursor_topic_must_be_in_the_list(connection: Connection, topics: list[Topic]) -> None:
    answer = ask(connection, topics[1].name, cursor=(topics[0].name, 0))
    assert {one.error_code for one in answer.topics} == {INVALID_REQUEST}


def test_a_negative_cursor_partition_is_an_invalid_request(
    connection: Connection, topics: list[Topic]
) -> None:
    answer = ask(connection, topics[0].name, cursor=(topics[0].name, -1))
    assert {one.error_code for one in answer.topics} == {INVALID_REQUEST}
