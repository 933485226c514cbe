"""DescribeConfigs: values, sources, and resources that do not exist."""

from typing import Any

import pytest

from tests.wire.support import configs
from tests.wire.support.broker import Broker
from tests.wire.support.configs import BROKER, DEFAULT, DYNAMIC_TOPIC, TOPIC
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    INVALID_REQUEST,
    INVALID_TOPIC,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.wire.support.requests import Topic

VERSIONS = range(1, 5)
BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = 1, 2, 3, 5, 6, 7

DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807",
    "index.interval.bytes": "4096",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.ms": "604800000",
}
TYPES = {
    "cleanup.policy": LIST,
    "compression.type": STRING,
    "max.message.bytes": INT,
    "min.cleanable.dirty.ratio": DOUBLE,
    "preallocate": BOOLEAN,
    "retention.ms": LONG,
    "segment.bytes": INT,
}


@pytest.fixture(scope="module")
def plain(broker: Broker) -> Topic:
    return broker.create_topic()


@pytest.fixture(scope="module")
def tuned(broker: Broker) -> Topic:
    return broker.create_topic(configs={"retention.ms": "1000", "cleanup.policy": "compact"})


def ask(connection: Connection, request: Any, version: int = 4) -> Any:
    """The one result of an answer about one resource."""
    answer = connection.call(request, version)
    assert answer.throttle_time_ms == 0
    (only,) = answer.results
    return only


def by_name(result: Any) -> dict[str, Any]:
    return {one.name: one for one in result.configs}


@pytest.mark.parametrize("version", VERSIONS)
def test_all_configs_of_a_topic_are_told(
    connection: Connection, plain: Topic, version: int
) -> None:
    found = ask(connection, configs.describe(plain.name), version)
    assert (found.error_code, found.resource_type, found.resource_name) == (0, TOPIC, plain.name)
    values = {name: one.value for name, one in by_name(found).items()}
    assert DEFAULTS.items() <= values.items()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_list_of_keys_means_all(
    connection: Connection, plain: Topic, version: int
) -> None:
    found = ask(connection, configs.describe(plain.name, keys=[]), version)
    assert set(DEFAULTS) <= set(by_name(found))


@pytest.mark.parametrize("version", VERSIONS)
def test_only_the_keys_asked_for_are_told(
    connection: Connection, tuned: Topic, version: int
) -> None:
    request = configs.describe(tuned.name, keys=["retention.ms", "no.such.config"])
    assert list(by_name(ask(connection, request, version))) == ["retention.ms"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_source_tells_what_was_set(connection: Connection, tuned: Topic, version: int) -> None:
    found = by_name(ask(connection, configs.describe(tuned.name), version))
    given, default = found["retention.ms"], found["segment.bytes"]
    assert (given.value, given.config_source) == ("1000", DYNAMIC_TOPIC)
    assert (default.value, default.config_source) == ("1073741824", DEFAULT)
    assert (given.read_only, given.is_sensitive) == (False, False)


@pytest.mark.parametrize("version", VERSIONS)
def test_synonyms_are_told_only_when_asked(
    connection: Connection, tuned: Topic, version: int
) -> None:
    found = ask(connection, configs.describe(tuned.name), version)
    assert not any(one.synonyms for one in found.configs)


@pytest.mark.parametrize("version", VERSIONS)
def test_synonyms_lead_from_the_set_value_to_the_default(
    connection: Connection, tuned: Topic, version: int
) -> None:
    request = configs.describe(tuned.name, include_synonyms=True)
    synonyms = by_name(ask(connection, request, version))["cleanup.policy"].synonyms
    assert (synonyms[0].name, synonyms[0].value) == ("cleanup.policy", "compact")
    assert synonyms[0].source == DYNAMIC_TOPIC
    assert (synonyms[-1].value, synonyms[-1].source) == ("delete", DEFAULT)


@pytest.mark.parametrize("version", range(3, 5))
def test_types_are_told(connection: Connection, plain: Topic, version: int) -> None:
    found = by_name(ask(connection, configs.describe(plain.name), version))
    assert {name: found[name].config_type for name in TYPES} == TYPES


@pytest.mark.parametrize("version", range(3, 5))
def test_documentation_is_told_only_when_asked(
    connection: Connection, plain: Topic, version: int
) -> None:
    quiet = ask(connection, configs.describe(plain.name), version)
    assert not any(one.documentation for one in quiet.configs)
    request = configs.describe(plain.name, include_documentation=True)
    assert all(one.documentation for one in ask(connection, request, version).configs)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_topic_is_an_error(connection: Connection, broker: Broker, version: int) -> None:
    name = broker.unique_name()
    found = ask(connection, configs.describe(name), version)
    assert (found.error_code, found.resource_name) == (UNKNOWN_TOPIC_OR_PARTITION, name)
    assert found.configs == []
    assert not broker.exists(name)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["", "bad name"])
def test_a_bad_topic_name_is_an_error(connection: Connection, version: int, name: str) -> None:
    found = ask(connection, configs.describe(name), version)
    assert (found.error_code, found.configs) == (INVALID_TOPIC, [])
    assert found.error_message


@pytest.mark.parametrize("version", VERSIONS)
def test_this_broker_is_described(connection: Connection, broker: Broker, version: int) -> None:
    name = str(broker.node_id())
    found = ask(connection, configs.describe(name, resource_type=BROKER), version)
    assert (found.error_code, found.resource_type, found.resource_name) == (0, BROKER, name)
    known = by_name(found)
    assert known["node.id"].value == name
    assert int(known["num.partitions"].value) >= 1
    assert known["delete.topic.enable"].value == "true"
    assert known["auto.create.topics.enable"].value == "true"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_cluster_default_broker_is_described(connection: Connection, version: int) -> None:
    found = ask(connection, configs.describe("", resource_type=BROKER), version)
    assert (found.error_code, found.resource_name) == (0, "")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["9999", "not-a-number"])
def test_another_broker_is_an_invalid_request(
    connection: Connection, version: int, name: str
) -> None:
    found = ask(connection, configs.describe(name, resource_type=BROKER), version)
    assert (found.error_code, found.configs) == (INVALID_REQUEST, [])
    assert found.error_message


def test_sensitive_values_are_never_told(connection: Connection, broker: Broker) -> None:
    request = configs.describe(str(broker.node_id()), resource_type=BROKER)
    found = ask(connection, request)
    assert all(one.value is None for one in found.configs if one.is_sensitive)


@pytest.mark.parametrize("resource_type", [0, 1, 3, 99])
def test_an_unknown_resource_type_is_an_invalid_request(
    connection: Connection, resource_type: int
) -> None:
    found = ask(connection, configs.describe("x", resource_type=resource_type))
    assert (found.error_code, found.configs) == (INVALID_REQUEST, [])


@pytest.mark.parametrize("version", VERSIONS)
def test_several_resources_are_answered_side_by_side(
    connection: Connection, broker: Broker, plain: Topic, tuned: Topic, version: int
) -> None:
    unknown = broker.unique_name()
    request = configs.describe(plain.name, unknown, tuned.name, keys=["retention.ms"])
    answer = connection.call(request, version)
    found = {
        one.resource_name: (one.error_code, [config.value for config in one.configs])
        for one in answer.results
    }
    assert found == {
        plain.name: (0, ["604800000"]),
        tuned.name: (0, ["1000"]),
        unknown: (UNKNOWN_TOPIC_OR_PARTITION, []),
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_without_resources_gets_an_empty_answer(
    connection: Connection, version: int
) -> None:
    assert connection.call(configs.describe(), version).results == []
