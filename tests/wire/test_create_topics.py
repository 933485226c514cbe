"""CreateTopics: what is made, what is refused, and what the answer tells."""

from typing import Any

import pytest

from tests.wire.support import requests
from tests.wire.support.broker import Broker, poll_until
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    INVALID_CONFIG,
    INVALID_PARTITIONS,
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REPLICATION_FACTOR,
    INVALID_REQUEST,
    INVALID_TOPIC,
    TOPIC_ALREADY_EXISTS,
)
from tests.wire.support.requests import creatable

VERSIONS = range(2, 8)
DYNAMIC_TOPIC_SOURCE = 1
DEFAULT_SOURCE = 5


def create(connection: Connection, *topics: Any, version: int = 7, **more: Any) -> dict[str, Any]:
    answer = connection.call(requests.create_topics(*topics, **more), version)
    assert answer.throttle_time_ms == 0
    return {one.name: one for one in answer.topics}


def error_of(connection: Connection, topic: Any, version: int = 7, **more: Any) -> int:
    return int(create(connection, topic, version=version, **more)[topic.name].error_code)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_created(connection: Connection, broker: Broker, version: int) -> None:
    name = broker.unique_name()
    found = create(connection, creatable(name, partitions=3), version=version)[name]
    assert (found.error_code, found.error_message) == (0, None)
    topic = broker.wait_until_usable(name, 3)
    if version >= 7:
        assert found.topic_id == topic.id


@pytest.mark.parametrize("version", range(5, 8))
def test_the_answer_tells_partitions_and_replication(
    connection: Connection, broker: Broker, version: int
) -> None:
    name = broker.unique_name()
    found = create(connection, creatable(name, partitions=3), version=version)[name]
    assert (found.num_partitions, found.replication_factor) == (3, 1)


@pytest.mark.parametrize("version", range(5, 8))
def test_the_answer_tells_the_effective_configs(
    connection: Connection, broker: Broker, version: int
) -> None:
    name = broker.unique_name()
    wanted = creatable(name, configs={"retention.ms": "12345"})
    found = create(connection, wanted, version=version)[name]
    configs = {one.name: one for one in found.configs}
    given, default = configs["retention.ms"], configs["cleanup.policy"]
    assert (given.value, given.config_source) == ("12345", DYNAMIC_TOPIC_SOURCE)
    assert (default.value, default.config_source) == ("delete", DEFAULT_SOURCE)
    assert not any(one.read_only or one.is_sensitive for one in found.configs)


@pytest.mark.parametrize("version", range(4, 8))
def test_minus_one_means_the_default(connection: Connection, broker: Broker, version: int) -> None:
    name = broker.unique_name()
    wanted = creatable(name, partitions=-1, replication_factor=-1)
    assert error_of(connection, wanted, version) == 0
    poll_until(lambda: broker.exists(name), f"{name} to be visible")
    assert len(broker.describe(name).partitions) >= 1


@pytest.mark.parametrize("version", VERSIONS)
def test_an_existing_topic_is_not_created_again(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic()
    found = create(connection, creatable(topic.name), version=version)[topic.name]
    assert found.error_code == TOPIC_ALREADY_EXISTS
    assert found.error_message
    assert broker.describe(topic.name).topic_id == topic.id


@pytest.mark.parametrize("version", range(5, 8))
def test_a_refusal_tells_no_partitions(
    connection: Connection, broker: Broker, version: int
) -> None:
    found = create(connection, creatable(".", partitions=3), version=version)["."]
    assert (found.num_partitions, found.replication_factor) == (-1, -1)
    assert not found.configs
    if version >= 7:
        assert found.topic_id is None  # zero on the wire


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_named_twice_is_an_invalid_request(
    connection: Connection, broker: Broker, version: int
) -> None:
    twice, once = broker.unique_name(), broker.unique_name()
    answer = connection.call(
        requests.create_topics(creatable(twice), creatable(once), creatable(twice)), version
    )
    codes = sorted((one.name, one.error_code) for one in answer.topics)
    assert codes == sorted([(twice, INVALID_REQUEST), (once, 0)])
    assert not broker.exists(twice)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("partitions", [0, -2, -100])
def test_a_topic_needs_partitions(
    connection: Connection, broker: Broker, version: int, partitions: int
) -> None:
    wanted = creatable(broker.unique_name(), partitions=partitions)
    assert error_of(connection, wanted, version) == INVALID_PARTITIONS


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("replication_factor", [0, -2])
def test_a_topic_needs_replicas(
    connection: Connection, broker: Broker, version: int, replication_factor: int
) -> None:
    wanted = creatable(broker.unique_name(), replication_factor=replication_factor)
    assert error_of(connection, wanted, version) == INVALID_REPLICATION_FACTOR


@pytest.mark.oncelog_only
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("replication_factor", [2, 3, 32767])
def test_more_replicas_than_brokers_are_accepted_and_clamped(
    connection: Connection, broker: Broker, version: int, replication_factor: int
) -> None:
    name = broker.unique_name()
    wanted = creatable(name, replication_factor=replication_factor)
    found = create(connection, wanted, version=version)[name]
    assert found.error_code == 0
    if version >= 5:
        assert found.replication_factor == 1
    assert len(broker.describe(name).partitions[0].replica_nodes) == 1


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a b", "a/b", "a:b", "\u00fc", "x" * 250, "tab\t", "a,b"]
)
@pytest.mark.parametrize("version", [2, 7])
def test_a_bad_name_is_refused(connection: Connection, version: int, name: str) -> None:
    assert error_of(connection, creatable(name), version) == INVALID_TOPIC


@pytest.mark.parametrize("name", ["x" * 200 + "-{}", "a.b_c-D9-{}", "-{}", "_{}", "...{}"])
def test_a_good_name_is_accepted(connection: Connection, broker: Broker, name: str) -> None:
    full = name.format(broker.unique_name())
    assert error_of(connection, creatable(full)) == 0


@pytest.mark.parametrize("version", [2, 7])
def test_names_that_collide_in_metrics_are_refused(
    connection: Connection, broker: Broker, version: int
) -> None:
    base = broker.unique_name()
    assert error_of(connection, creatable(f"{base}.a_b"), version) == 0
    for colliding in (f"{base}_a.b", f"{base}.a.b", f"{base}_a_b"):
        assert error_of(connection, creatable(colliding), version) == INVALID_TOPIC


def test_the_name_of_the_metadata_log_is_reserved(connection: Connection) -> None:
    assert error_of(connection, creatable("__cluster_metadata")) == INVALID_REQUEST


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("no.such.config", "1"),
        ("retention.ms", "soon"),
        ("retention.ms", ""),
        ("cleanup.policy", "burn"),
        ("compression.type", "rar"),
        ("max.message.bytes", "-1"),
        ("message.timestamp.type", "Never"),
        ("min.cleanable.dirty.ratio", "2"),
        ("segment.bytes", "1"),
    ],
)
def test_a_bad_config_is_refused(
    connection: Connection, broker: Broker, version: int, key: str, value: str
) -> None:
    name = broker.unique_name()
    wanted = creatable(name, configs={key: value})
    assert error_of(connection, wanted, version) == INVALID_CONFIG
    assert not broker.exists(name)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cleanup.policy", "compact"),
        ("cleanup.policy", "compact,delete"),
        ("compression.type", "zstd"),
        ("compression.type", "producer"),
        ("delete.retention.ms", "1"),
        ("file.delete.delay.ms", "1"),
        ("flush.messages", "1"),
        ("flush.ms", "1000"),
        ("index.interval.bytes", "4096"),
        ("max.compaction.lag.ms", "1000"),
        ("max.message.bytes", "1000"),
        ("message.timestamp.after.max.ms", "1"),
        ("message.timestamp.before.max.ms", "1"),
        ("message.timestamp.type", "LogAppendTime"),
        ("min.cleanable.dirty.ratio", "0.1"),
        ("min.compaction.lag.ms", "1"),
        ("min.insync.replicas", "1"),
        ("preallocate", "true"),
        ("retention.bytes", "-1"),
        ("retention.bytes", "1000"),
        ("retention.ms", "-1"),
        ("segment.bytes", "1048576"),
        ("segment.index.bytes", "10485760"),
        ("segment.jitter.ms", "0"),
        ("segment.ms", "1000"),
        ("unclean.leader.election.enable", "false"),
    ],
)
def test_kafkas_own_topic_configs_are_accepted(
    connection: Connection, broker: Broker, key: str, value: str
) -> None:
    name = broker.unique_name()
    found = create(connection, creatable(name, configs={key: value}))[name]
    assert found.error_code == 0
    told = {one.name: one.value for one in found.configs}
    assert told[key] == value


@pytest.mark.parametrize("version", VERSIONS)
def test_a_null_config_value_is_refused(
    connection: Connection, broker: Broker, version: int
) -> None:
    wanted = creatable(broker.unique_name(), configs={"retention.ms": None})
    assert error_of(connection, wanted, version) == INVALID_CONFIG


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_may_be_assigned_by_hand(
    connection: Connection, broker: Broker, version: int
) -> None:
    node_id = broker.node_id()
    name = broker.unique_name()
    wanted = creatable(
        name, partitions=-1, replication_factor=-1, assignments={1: [node_id], 0: [node_id]}
    )
    assert error_of(connection, wanted, version) == 0
    broker.wait_until_usable(name, 2)


@pytest.mark.parametrize(("partitions", "replication_factor"), [(1, -1), (-1, 1), (2, 1)])
@pytest.mark.parametrize("version", VERSIONS)
def test_assignment_and_counts_exclude_each_other(
    connection: Connection,
    broker: Broker,
    version: int,
    partitions: int,
    replication_factor: int,
) -> None:
    wanted = creatable(
        broker.unique_name(),
        partitions=partitions,
        replication_factor=replication_factor,
        assignments={0: [broker.node_id()]},
    )
    assert error_of(connection, wanted, version) == INVALID_REQUEST


@pytest.mark.parametrize(
    "assignments", [{1: "node"}, {0: "node", 2: "node"}, {0: ""}, {0: "twice"}]
)
def test_a_senseless_assignment_is_refused(
    connection: Connection, broker: Broker, assignments: dict[int, str]
) -> None:
    node_id = broker.node_id()
    replicas = {"node": [node_id], "": [], "twice": [node_id, node_id]}
    wanted = creatable(
        broker.unique_name(),
        partitions=-1,
        replication_factor=-1,
        assignments={index: replicas[kind] for index, kind in assignments.items()},
    )
    assert error_of(connection, wanted) == INVALID_REPLICA_ASSIGNMENT


def test_an_assignment_to_an_unknown_broker_is_refused(
    connection: Connection, broker: Broker
) -> None:
    wanted = creatable(
        broker.unique_name(), partitions=-1, replication_factor=-1, assignments={0: [9999]}
    )
    assert error_of(connection, wanted) == INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize("version", VERSIONS)
def test_validate_only_creates_nothing(
    connection: Connection, broker: Broker, version: int
) -> None:
    name = broker.unique_name()
    wanted = creatable(name, partitions=2)
    found = create(connection, wanted, version=version, validate_only=True)[name]
    assert found.error_code == 0
    if version >= 5:
        assert (found.num_partitions, found.replication_factor) == (2, 1)
    assert not broker.exists(name)


@pytest.mark.parametrize("version", VERSIONS)
def test_validate_only_finds_faults(connection: Connection, broker: Broker, version: int) -> None:
    topic = broker.create_topic()
    bad = creatable(broker.unique_name(), configs={"retention.ms": "soon"})
    found = create(connection, creatable(topic.name), bad, version=version, validate_only=True)
    assert found[topic.name].error_code == TOPIC_ALREADY_EXISTS
    assert found[bad.name].error_code == INVALID_CONFIG


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bad_topic_stops_no_other(connection: Connection, broker: Broker, version: int) -> None:
    name = broker.unique_name()
    found = create(connection, creatable(".."), creatable(name), version=version)
    assert (found[".."].error_code, found[name].error_code) == (INVALID_TOPIC, 0)
    broker.wait_until_usable(name, 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_without_topics_gets_an_empty_answer(
    connection: Connection, version: int
) -> None:
    assert create(connection, version=version) == {}
