"""Metadata: brokers, topics, auto-creation, topic ids."""

import uuid
from typing import Any

import pytest

from tests.wire.support import requests
from tests.wire.support.broker import Broker, poll_until
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    INVALID_REQUEST,
    INVALID_TOPIC,
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.wire.support.requests import Topic

VERSIONS = range(14)
PARTITIONS = 3


BAD_NAMES = ["", ".", "..", "a b", "a/b", "\u00fc", "x" * 250, "a:b", "new\nline"]


@pytest.fixture(scope="module")
def topic(broker: Broker) -> Topic:
    return broker.create_topic(partitions=PARTITIONS)


def first_topic(connection: Connection, request: Any, version: int) -> Any:
    answer = connection.call(request, version)
    assert len(answer.topics) == 1
    return answer.topics[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_one_broker_is_told_with_its_reachable_address(
    connection: Connection, broker: Broker, version: int
) -> None:
    answer = connection.call(requests.metadata(), version)
    assert len(answer.brokers) == 1
    only = answer.brokers[0]
    assert f"{only.host}:{only.port}" == broker.bootstrap
    assert only.rack is None
    assert answer.error_code == 0
    assert answer.throttle_time_ms == 0


@pytest.mark.parametrize("version", range(1, 14))
def test_the_controller_is_a_live_broker(connection: Connection, version: int) -> None:
    answer = connection.call(requests.metadata(), version)
    assert answer.controller_id in [one.node_id for one in answer.brokers]


@pytest.mark.parametrize("version", range(2, 14))
def test_the_cluster_id_is_told_and_stays(connection: Connection, version: int) -> None:
    first, second = (connection.call(requests.metadata(), version).cluster_id for _ in range(2))
    assert first
    assert first == second


@pytest.mark.parametrize("version", VERSIONS)
def test_a_named_topic_is_described(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    found = first_topic(connection, requests.metadata(topic.name), version)
    assert (found.error_code, found.name, found.is_internal) == (0, topic.name, False)
    assert [one.partition_index for one in found.partitions] == list(range(PARTITIONS))
    node_id = broker.node_id()
    for partition in found.partitions:
        assert (partition.error_code, partition.leader_id) == (0, node_id)
        assert (partition.replica_nodes, partition.isr_nodes) == ([node_id], [node_id])
        assert not partition.offline_replicas


@pytest.mark.parametrize("version", range(7, 14))
def test_the_leader_epoch_is_told(connection: Connection, topic: Topic, version: int) -> None:
    found = first_topic(connection, requests.metadata(topic.name), version)
    assert all(partition.leader_epoch >= 0 for partition in found.partitions)


@pytest.mark.parametrize("version", range(10, 14))
def test_the_topic_id_is_told_and_the_same_in_every_version(
    connection: Connection, topic: Topic, version: int
) -> None:
    found = first_topic(connection, requests.metadata(topic.name), version)
    assert found.topic_id == topic.id
    assert found.topic_id is not None  # zero on the wire


def test_two_topics_have_two_ids(broker: Broker, topic: Topic) -> None:
    assert broker.create_topic().id != topic.id


@pytest.mark.parametrize("version", range(12, 14))
def test_a_topic_is_found_by_its_id(connection: Connection, topic: Topic, version: int) -> None:
    found = first_topic(connection, requests.metadata_by_id(topic.id), version)
    assert (found.error_code, found.name, found.topic_id) == (0, topic.name, topic.id)
    assert len(found.partitions) == PARTITIONS


@pytest.mark.parametrize("version", range(12, 14))
def test_an_unknown_topic_id_is_an_error(connection: Connection, version: int) -> None:
    unknown = uuid.uuid4()
    found = first_topic(connection, requests.metadata_by_id(unknown), version)
    assert (found.error_code, found.topic_id) == (UNKNOWN_TOPIC_ID, unknown)
    assert found.name is None
    assert found.partitions == []


@pytest.mark.parametrize("version", range(10, 12))
def test_lookup_by_id_before_version_twelve_is_an_invalid_request(
    connection: Connection, topic: Topic, version: int
) -> None:
    request = requests.metadata(topic.name)
    request.topics[0].topic_id = topic.id
    answer = connection.call(request, version)
    assert [one.error_code for one in answer.topics] == [INVALID_REQUEST]


def test_an_empty_list_means_every_topic_in_version_zero(
    connection: Connection, topic: Topic
) -> None:
    answer = connection.call(requests.metadata(), 0)
    assert topic.name in [one.name for one in answer.topics]


@pytest.mark.parametrize("version", range(1, 14))
def test_null_means_every_topic(connection: Connection, topic: Topic, version: int) -> None:
    answer = connection.call(requests.metadata(every_topic=True), version)
    names = [one.name for one in answer.topics]
    assert topic.name in names
    assert len(names) == len(set(names))


@pytest.mark.parametrize("version", range(1, 14))
def test_an_empty_list_means_brokers_only(connection: Connection, version: int) -> None:
    answer = connection.call(requests.metadata(), version)
    assert answer.topics == []
    assert len(answer.brokers) == 1


@pytest.mark.parametrize("version", range(4, 14))
def test_without_leave_an_unknown_topic_is_not_created(
    connection: Connection, broker: Broker, version: int
) -> None:
    name = broker.unique_name()
    for _ in range(2):
        found = first_topic(connection, requests.metadata(name), version)
        assert (found.error_code, found.name) == (UNKNOWN_TOPIC_OR_PARTITION, name)
        assert found.partitions == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_created_on_first_mention(
    connection: Connection, broker: Broker, version: int
) -> None:
    name = broker.unique_name()
    request = requests.metadata(name, allow_auto_topic_creation=True)
    first = first_topic(connection, request, version)
    assert first.error_code in (0, UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE)

    def created() -> Any:
        found = first_topic(connection, request, version)
        return found if found.error_code == 0 else None

    found = poll_until(created, f"{name} to be created")
    assert found.name == name
    assert len(found.partitions) >= 1


@pytest.mark.oncelog_only
def test_a_topic_created_on_first_mention_has_four_partitions_at_once(
    connection: Connection, broker: Broker
) -> None:
    request = requests.metadata(broker.unique_name(), allow_auto_topic_creation=True)
    found = first_topic(connection, request, 12)
    assert found.error_code == 0
    assert len(found.partitions) == 4


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("version", [1, 9, 12])
def test_a_bad_name_is_refused_and_not_created(
    connection: Connection, version: int, name: str
) -> None:
    request = requests.metadata(name, allow_auto_topic_creation=True)
    found = first_topic(connection, request, version)
    assert found.error_code == INVALID_TOPIC
    assert found.partitions == []
    answer = connection.call(requests.metadata(every_topic=True), version)
    assert name not in [one.name for one in answer.topics]


def test_the_longest_good_name_is_accepted(connection: Connection, broker: Broker) -> None:
    name = broker.unique_name().ljust(249, "x")
    request = requests.metadata(name, allow_auto_topic_creation=True)
    poll_until(
        lambda: first_topic(connection, request, 12).error_code == 0, "the long name to exist"
    )


def test_good_and_unknown_topics_are_answered_side_by_side(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    unknown = broker.unique_name()
    answer = connection.call(requests.metadata(unknown, topic.name, "bad name"), 12)
    assert {one.name: one.error_code for one in answer.topics} == {
        topic.name: 0,
        unknown: UNKNOWN_TOPIC_OR_PARTITION,
        "bad name": INVALID_TOPIC,
    }


def test_good_and_unknown_ids_are_answered_side_by_side(
    connection: Connection, topic: Topic
) -> None:
    unknown = uuid.uuid4()
    answer = connection.call(requests.metadata_by_id(unknown, topic.id), 12)
    assert {one.topic_id: one.error_code for one in answer.topics} == {
        topic.id: 0,
        unknown: UNKNOWN_TOPIC_ID,
    }


def test_a_topic_named_twice_is_answered_once(connection: Connection, topic: Topic) -> None:
    answer = connection.call(requests.metadata(topic.name, topic.name), 9)
    assert [one.name for one in answer.topics] == [topic.name]


@pytest.mark.parametrize("version", range(8, 14))
def test_authorized_operations_are_absent_unless_asked(
    connection: Connection, topic: Topic, version: int
) -> None:
    answer = connection.call(requests.metadata(topic.name), version)
    assert answer.topics[0].authorized_operations is None  # -2147483648 on the wire
    if version <= 10:
        assert answer.authorized_operations is None  # -2147483648 on the wire


@pytest.mark.parametrize("version", range(8, 14))
def test_topic_authorized_operations_are_told_when_asked(
    connection: Connection, topic: Topic, version: int
) -> None:
    request = requests.metadata(topic.name, include_topic_authorized_operations=True)
    operations = connection.call(request, version).topics[0].authorized_operations
    assert {3, 4, 8} <= set(operations)  # read, write, describe


@pytest.mark.parametrize("version", range(8, 11))
def test_cluster_authorized_operations_are_told_when_asked(
    connection: Connection, version: int
) -> None:
    request = requests.metadata(include_cluster_authorized_operations=True)
    operations = connection.call(request, version).authorized_operations
    assert {5, 8} <= set(operations)  # create, describe
