"""CreatePartitions: growing a topic."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.wire.support import batches, messages
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    INVALID_PARTITIONS,
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REQUEST,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.wire.support.requests import ADMIN_TIMEOUT_MS

VERSIONS = range(4)


def wanted(name: str, count: int, assignments: Sequence[Sequence[int]] | None = None) -> Any:
    topic_class = messages.CreatePartitionsRequest.CreatePartitionsTopic
    chosen = None
    if assignments is not None:
        entry = topic_class.CreatePartitionsAssignment
        chosen = [entry(broker_ids=list(ids)) for ids in assignments]
    return topic_class(name=name, count=count, assignments=chosen)


def grow(connection: Connection, *topics: Any, version: int, validate_only: bool = False) -> Any:
    request = messages.CreatePartitionsRequest(
        topics=list(topics), timeout_ms=ADMIN_TIMEOUT_MS, validate_only=validate_only
    )
    answer = connection.call(request, version)
    assert answer.throttle_time_ms == 0
    return answer.results


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_grows_and_keeps_its_records(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic(partitions=1)
    broker.produce(topic, batches.build([b"kept"]))
    (found,) = grow(connection, wanted(topic.name, 3), version=version)
    assert (found.name, found.error_code, found.error_message) == (topic.name, 0, None)
    assert broker.wait_until_usable(topic.name, 3).id == topic.id
    assert broker.latest(topic, 0) == 1
    assert broker.produce(topic, batches.build([b"new"]), partition=2) == 0


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [2, 1, 0, -1])
def test_a_topic_does_not_shrink_or_stay(
    connection: Connection, broker: Broker, version: int, count: int
) -> None:
    topic = broker.create_topic(partitions=2)
    (found,) = grow(connection, wanted(topic.name, count), version=version)
    assert found.error_code == INVALID_PARTITIONS
    assert found.error_message
    assert len(broker.describe(topic.name).partitions) == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_topic_is_an_error(connection: Connection, broker: Broker, version: int) -> None:
    (found,) = grow(connection, wanted(broker.unique_name(), 3), version=version)
    assert found.error_code == UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", VERSIONS)
def test_new_partitions_may_be_assigned_by_hand(
    connection: Connection, broker: Broker, version: int
) -> None:
    node_id = broker.node_id()
    topic = broker.create_topic(partitions=1)
    (found,) = grow(connection, wanted(topic.name, 3, [[node_id]] * 2), version=version)
    assert found.error_code == 0
    broker.wait_until_usable(topic.name, 3)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("assigned", [0, 1, 3])
def test_the_assignment_must_match_the_new_partitions(
    connection: Connection, broker: Broker, version: int, assigned: int
) -> None:
    topic = broker.create_topic(partitions=1)
    chosen = [[broker.node_id()]] * assigned
    (found,) = grow(connection, wanted(topic.name, 3, chosen), version=version)
    assert found.error_code == INVALID_REPLICA_ASSIGNMENT
    assert len(broker.describe(topic.name).partitions) == 1


def test_an_assignment_to_an_unknown_broker_is_refused(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic(partitions=1)
    (found,) = grow(connection, wanted(topic.name, 2, [[9999]]), version=3)
    assert found.error_code == INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize("version", VERSIONS)
def test_validate_only_changes_nothing(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic(partitions=2)
    good, bad = wanted(topic.name, 5), wanted(topic.name, 1)
    (found,) = grow(connection, good, version=version, validate_only=True)
    assert found.error_code == 0
    (found,) = grow(connection, bad, version=version, validate_only=True)
    assert found.error_code == INVALID_PARTITIONS
    assert len(broker.describe(topic.name).partitions) == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_named_twice_is_an_invalid_request(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic()
    found = grow(connection, wanted(topic.name, 2), wanted(topic.name, 3), version=version)
    assert {one.error_code for one in found} == {INVALID_REQUEST}
    assert len(broker.describe(topic.name).partitions) == 1


def test_a_bad_topic_stops_no_other(connection: Connection, broker: Broker) -> None:
    topic, unknown = broker.create_topic(), broker.unique_name()
    found = grow(connection, wanted(unknown, 2), wanted(topic.name, 2), version=3)
    codes = {one.name: one.error_code for one in found}
    assert codes == {unknown: UNKNOWN_TOPIC_OR_PARTITION, topic.name: 0}
