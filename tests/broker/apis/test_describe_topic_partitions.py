"""DescribeTopicPartitions: topics by name, a few partitions at a time."""

from typing import Any

import pytest

from broker.authorized_operations import NOT_ASKED, TOPIC_OPERATIONS
from broker.limits import DESCRIBED_PARTITIONS_MAX
from protocol.errors import ErrorCode
from protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from tests.broker.support import InProcessBroker

Request = DescribeTopicPartitionsRequest
Position = tuple[str, int]


def ask(
    broker: InProcessBroker, *names: str, limit: int = 2000, cursor: Position | None = None
) -> Any:
    request = Request(
        topics=[Request.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
    )
    if cursor is not None:
        request.cursor = Request.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    return broker.call(request, 0)


def page(
    broker: InProcessBroker, *names: str, limit: int = 2000, cursor: Position | None = None
) -> tuple[list[tuple[str, list[int]]], Position | None]:
    """Topics with their partitions, and where to go on."""
    answer = ask(broker, *names, limit=limit, cursor=cursor)
    topics = [
        (topic.name, [one.partition_index for one in topic.partitions]) for topic in answer.topics
    ]
    following = answer.next_cursor
    return topics, following and (following.topic_name, following.partition_index)


@pytest.fixture
def three(broker: InProcessBroker) -> InProcessBroker:
    """Topics c, a and b with 2, 3 and 1 partitions."""
    for name, partitions in (("c", 2), ("a", 3), ("b", 1)):
        broker.create_topic(name, partitions)
    return broker


def test_a_topic_is_described(broker: InProcessBroker) -> None:
    topic = broker.create_topic("a", 2)
    answer = ask(broker, "a")
    (found,) = answer.topics
    assert (found.error_code, found.name, found.topic_id) == (0, "a", topic.topic_id)
    assert not found.is_internal
    assert found.topic_authorized_operations == TOPIC_OPERATIONS
    for index, one in enumerate(found.partitions):
        assert (one.error_code, one.partition_index) == (0, index)
        assert (one.leader_id, one.leader_epoch) == (1, 0)
        assert (one.replica_nodes, one.isr_nodes, one.offline_replicas) == ([1], [1], [])
        assert (one.eligible_leader_replicas, one.last_known_elr) == ([], [])
    assert answer.next_cursor is None


def test_topics_come_in_the_order_of_their_names_and_once(three: InProcessBroker) -> None:
    expected = [("a", [0, 1, 2]), ("b", [0]), ("c", [0, 1])]
    assert page(three, "c", "a", "c", "b") == (expected, None)
    assert page(three) == (expected, None)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("names", [(), ("a", "b", "c")])
def test_pages_add_up_to_everything(
    three: InProcessBroker, limit: int, names: tuple[str, ...]
) -> None:
    told: list[tuple[str, int]] = []
    cursor: Position | None = None
    while True:
        topics, cursor = page(three, *names, limit=limit, cursor=cursor)
        partitions = [(name, index) for name, indexes in topics for index in indexes]
        assert len(partitions) == min(limit, 6 - len(told))
        told += partitions
        if cursor is None:
            break
    assert told == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("c", 0), ("c", 1)]


@pytest.mark.parametrize("limit", [0, -1])
def test_at_least_one_partition_is_told(three: InProcessBroker, limit: int) -> None:
    assert page(three, "a", limit=limit) == ([("a", [0])], ("a", 1))


def test_the_broker_limits_a_page_too(broker: InProcessBroker) -> None:
    broker.create_topic("a", DESCRIBED_PARTITIONS_MAX + 1)
    topics, cursor = page(broker, "a", limit=DESCRIBED_PARTITIONS_MAX + 1)
    assert len(topics[0][1]) == DESCRIBED_PARTITIONS_MAX
    assert cursor == ("a", DESCRIBED_PARTITIONS_MAX)


def test_a_page_that_ends_with_a_topic_goes_on_with_the_next(three: InProcessBroker) -> None:
    assert page(three, "a", "b", limit=3) == ([("a", [0, 1, 2])], ("b", 0))
    assert page(three, "a", limit=3) == ([("a", [0, 1, 2])], None)


def test_a_cursor_may_point_behind_the_last_partition(three: InProcessBroker) -> None:
    assert page(three, "a", "b", cursor=("a", 9)) == ([("a", []), ("b", [0])], None)


def test_a_cursor_of_a_topic_that_is_gone_goes_on_behind_it(three: InProcessBroker) -> None:
    assert page(three, cursor=("aa", 1)) == ([("b", [0]), ("c", [0, 1])], None)
    assert page(three, cursor=("z", 1)) == ([], None)


@pytest.mark.parametrize("cursor", [("a", -1), ("c", 0), ("", 0)])
def test_a_senseless_cursor_is_an_invalid_request(three: InProcessBroker, cursor: Position) -> None:
    answer = ask(three, "b", "a", cursor=cursor)
    assert [(one.name, one.error_code) for one in answer.topics] == [
        ("b", ErrorCode.INVALID_REQUEST),
        ("a", ErrorCode.INVALID_REQUEST),
    ]
    assert all(one.topic_authorized_operations == NOT_ASKED for one in answer.topics)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_topic_that_cannot_be_described_stops_no_other(
    three: InProcessBroker, name: str, error: int
) -> None:
    answer = ask(three, "b", name)
    assert {one.name: one.error_code for one in answer.topics} == {"b": 0, name: error}
    assert len(three.broker.topics) == 3


def test_absent_topics_do_not_count_but_wait_for_their_page(three: InProcessBroker) -> None:
    answer = ask(three, "a", "aa", "b", limit=4)
    assert [one.name for one in answer.topics] == ["a", "aa", "b"]
    assert page(three, "a", "aa", limit=3) == ([("a", [0, 1, 2])], ("aa", 0))


def test_internal_topics_are_marked(broker: InProcessBroker) -> None:
    (found,) = ask(broker, "__consumer_offsets").topics
    assert (found.error_code, found.is_internal) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
