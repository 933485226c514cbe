"""CreatePartitions: topics grow and never shrink."""

from typing import Any

import pytest

from broker.limits import NEW_PARTITIONS_PER_REQUEST_MAX, PARTITIONS_PER_TOPIC_MAX
from protocol.errors import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest
from storage.errors import StorageFull
from tests.broker.support import InProcessBroker

VERSIONS = range(4)
OWN_NODE = 1


def wish(
    name: str, count: int, assignments: list[list[int]] | None = None
) -> CreatePartitionsRequest.CreatePartitionsTopic:
    assignment = CreatePartitionsRequest.CreatePartitionsAssignment
    lists = None
    if assignments is not None:
        lists = [assignment(broker_ids=brokers) for brokers in assignments]
    return CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=lists)


def grow(
    broker: InProcessBroker,
    *topics: CreatePartitionsRequest.CreatePartitionsTopic,
    version: int = 3,
    validate_only: bool = False,
) -> list[tuple[str, int]]:
    request = CreatePartitionsRequest(topics=list(topics), validate_only=validate_only)
    results: list[Any] = broker.call(request, version).results
    for one in results:
        assert (one.error_message is None) == (one.error_code == 0)
    return [(one.name, one.error_code) for one in results]


def partition_count(broker: InProcessBroker, name: str) -> int:
    topic = broker.broker.topics.get(name)
    return 0 if topic is None else len(topic.partitions)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_grows_and_keeps_its_records(broker: InProcessBroker, version: int) -> None:
    topic = broker.create_topic("a", 2)
    broker.append(topic.partitions[1], 100)
    assert grow(broker, wish("a", 5), version=version) == [("a", 0)]
    broker.append(topic.partitions[4], 100)
    broker.restart()
    again = broker.broker.topics.get("a")
    assert again is not None
    assert [one.high_watermark for one in again.partitions] == [0, 1, 0, 0, 1]
    assert broker.broker.topics.partition_count == 5


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [2, 1, 0, -1])
def test_a_topic_does_not_shrink_or_stay(broker: InProcessBroker, version: int, count: int) -> None:
    broker.create_topic("a", 2)
    found = grow(broker, wish("a", count), version=version)
    assert found == [("a", ErrorCode.INVALID_PARTITIONS)]
    assert partition_count(broker, "a") == 2


def test_an_unknown_topic_stops_no_other(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    assert grow(broker, wish("absent", 2), wish("a", 2)) == [
        ("absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", 0),
    ]


def test_a_topic_named_twice_is_refused_once(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    found = grow(broker, wish("a", 2), wish("a", 3))
    assert found == [("a", ErrorCode.INVALID_REQUEST)]
    assert partition_count(broker, "a") == 1


@pytest.mark.parametrize("assignments", [[[OWN_NODE], [OWN_NODE]], [[OWN_NODE, 2], [2, 3]]])
def test_an_assignment_for_each_new_partition_is_accepted(
    broker: InProcessBroker, assignments: list[list[int]]
) -> None:
    broker.create_topic("a")
    assert grow(broker, wish("a", 3, assignments)) == [("a", 0)]
    assert partition_count(broker, "a") == 3


@pytest.mark.parametrize(
    "assignments",
    [
        [],
        [[OWN_NODE]],
        [[OWN_NODE]] * 3,
        [[OWN_NODE], []],
        [[OWN_NODE], [OWN_NODE, OWN_NODE]],
        [[OWN_NODE], [99]],
    ],
)
def test_a_senseless_assignment_is_refused(
    broker: InProcessBroker, assignments: list[list[int]]
) -> None:
    broker.create_topic("a")
    found = grow(broker, wish("a", 3, assignments))
    assert found == [("a", ErrorCode.INVALID_REPLICA_ASSIGNMENT)]
    assert partition_count(broker, "a") == 1


def test_too_many_partitions_violate_the_policy(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    found = grow(broker, wish("a", PARTITIONS_PER_TOPIC_MAX + 1))
    assert found == [("a", ErrorCode.POLICY_VIOLATION)]


def test_one_request_can_make_so_many_partitions(broker: InProcessBroker) -> None:
    half = NEW_PARTITIONS_PER_REQUEST_MAX // 2
    for name in ("a", "b", "c"):
        broker.create_topic(name)
    wishes = wish("a", half + 1), wish("b", half + 2), wish("c", half + 1)
    assert grow(broker, *wishes, validate_only=True) == [
        ("a", 0),
        ("b", ErrorCode.POLICY_VIOLATION),
        ("c", 0),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_validate_only_changes_nothing(broker: InProcessBroker, version: int) -> None:
    broker.create_topic("a", 2)
    assert grow(broker, wish("a", 3), version=version, validate_only=True) == [("a", 0)]
    found = grow(broker, wish("a", 1), version=version, validate_only=True)
    assert found == [("a", ErrorCode.INVALID_PARTITIONS)]
    assert partition_count(broker, "a") == 2


def test_a_full_disk_is_a_storage_error(
    broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("a")
    broker.refuse_writes(monkeypatch, StorageFull("no space"))
    assert grow(broker, wish("a", 2)) == [("a", ErrorCode.KAFKA_STORAGE_ERROR)]
