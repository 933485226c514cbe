"""DescribeConfigs: every setting with its value, source, synonyms and meaning."""

from typing import Any

import pytest

from broker.config_values import ConfigType
from broker.settings import describe
from broker.topic_configs import DEFINITIONS
from protocol.errors import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest
from tests.broker.support import HOST, PORT, InProcessBroker

VERSIONS = range(1, 5)
TOPIC, BROKER = 2, 4
TOPIC_SOURCE, STATIC_SOURCE, DEFAULT_SOURCE = 1, 4, 5

Resource = DescribeConfigsRequest.DescribeConfigsResource


def ask(
    broker: InProcessBroker,
    resource_type: int,
    name: str,
    keys: list[str] | None = None,
    version: int = 4,
    **more: bool,
) -> Any:
    resource = Resource(resource_type=resource_type, resource_name=name, configuration_keys=keys)
    (found,) = broker.call(DescribeConfigsRequest(resources=[resource], **more), version).results
    assert (found.resource_type, found.resource_name) == (resource_type, name)
    return found


def configs(broker: InProcessBroker, resource_type: int, name: str, **more: Any) -> dict[str, Any]:
    found = ask(broker, resource_type, name, **more)
    assert (found.error_code, found.error_message) == (0, "")
    return {one.name: one for one in found.configs}


@pytest.mark.parametrize("version", VERSIONS)
def test_all_settings_of_a_topic_are_told(broker: InProcessBroker, version: int) -> None:
    broker.create_topic("a", retention_ms="7")
    found = configs(broker, TOPIC, "a", version=version)
    assert set(found) == set(DEFINITIONS)
    own, default = found["retention.ms"], found["segment.bytes"]
    assert (own.value, own.config_source) == ("7", TOPIC_SOURCE)
    assert (default.value, default.config_source) == ("1073741824", DEFAULT_SOURCE)
    for one in found.values():
        assert not one.read_only
        assert not one.is_sensitive
        assert one.synonyms == []
        assert one.config_type == (DEFINITIONS[one.name].config_type if version >= 3 else 0)
        assert one.documentation == (None if version >= 3 else "")


@pytest.mark.parametrize("keys", [None, []])
def test_no_keys_mean_all_keys(broker: InProcessBroker, keys: list[str] | None) -> None:
    broker.create_topic("a")
    assert set(configs(broker, TOPIC, "a", keys=keys)) == set(DEFINITIONS)


def test_only_the_asked_keys_that_exist_are_told_and_once(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    keys = ["retention.ms", "no.such.setting", "retention.ms"]
    assert [one.name for one in ask(broker, TOPIC, "a", keys).configs] == ["retention.ms"]


@pytest.mark.parametrize("version", VERSIONS)
def test_synonyms_are_told_strongest_first(version: int) -> None:
    with InProcessBroker(log_retention_ms=5) as broker:
        broker.create_topic("a", retention_ms="7")
        found = configs(broker, TOPIC, "a", version=version, include_synonyms=True)
    named = {
        key: [(one.name, one.value, one.source) for one in found[key].synonyms] for key in found
    }
    assert named["retention.ms"] == [
        ("retention.ms", "7", TOPIC_SOURCE),
        ("log.retention.ms", "5", STATIC_SOURCE),
        ("log.retention.ms", "604800000", DEFAULT_SOURCE),
    ]
    assert named["segment.bytes"] == [("log.segment.bytes", "1073741824", DEFAULT_SOURCE)]
    assert named["flush.ms"] == []


def test_a_topic_without_a_value_of_its_own_shows_the_brokers() -> None:
    with InProcessBroker(log_retention_ms=5) as broker:
        broker.create_topic("a")
        found = configs(broker, TOPIC, "a")["retention.ms"]
    assert (found.value, found.config_source) == ("5", STATIC_SOURCE)


@pytest.mark.parametrize("version", [3, 4])
def test_documentation_is_told_when_asked(broker: InProcessBroker, version: int) -> None:
    broker.create_topic("a")
    for resource_type, name in ((TOPIC, "a"), (BROKER, "1")):
        found = configs(broker, resource_type, name, version=version, include_documentation=True)
        assert all(one.documentation for one in found.values())


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_topic_that_cannot_be_described(broker: InProcessBroker, name: str, error: int) -> None:
    found = ask(broker, TOPIC, name)
    assert (found.error_code, found.configs) == (error, [])
    assert found.error_message


@pytest.mark.parametrize("version", VERSIONS)
def test_the_brokers_settings_are_told_and_read_only(version: int) -> None:
    with InProcessBroker(num_partitions=9) as broker:
        found = configs(broker, BROKER, "1", version=version, include_synonyms=True)
    own = {name for name, *_ in describe()} - {"listen", "advertised", "data.dir"}
    assert own <= set(found)
    assert all(one.read_only and not one.is_sensitive for one in found.values())
    given, default = found["num.partitions"], found["delete.topic.enable"]
    assert (given.value, given.config_source) == ("9", STATIC_SOURCE)
    assert [(one.value, one.source) for one in given.synonyms] == [
        ("9", STATIC_SOURCE),
        ("4", DEFAULT_SOURCE),
    ]
    assert (default.value, default.config_source) == ("true", DEFAULT_SOURCE)


def test_what_tools_look_for_is_told(broker: InProcessBroker) -> None:
    found = {name: one.value for name, one in configs(broker, BROKER, "1").items()}
    assert found["inter.broker.protocol.version"] == "4.1"
    assert found["advertised.listeners"] == f"PLAINTEXT://{HOST}:{PORT}"
    assert found["broker.id"] == found["node.id"] == "1"
    assert found["log.cleaner.delete.retention.ms"] == "86400000"


def test_the_brokers_settings_have_kafkas_types(broker: InProcessBroker) -> None:
    found = {name: one.config_type for name, one in configs(broker, BROKER, "1").items()}
    assert found["num.partitions"] == ConfigType.INT
    assert found["log.retention.ms"] == ConfigType.LONG
    assert found["connections.max.idle.ms"] == ConfigType.LONG
    assert found["log.cleanup.policy"] == ConfigType.LIST
    assert found["auto.create.topics.enable"] == ConfigType.BOOLEAN


def test_an_ipv6_address_is_told_in_brackets(broker: InProcessBroker) -> None:
    broker.broker.host = "::1"
    found = configs(broker, BROKER, "1")["advertised.listeners"]
    assert found.value == f"PLAINTEXT://[::1]:{PORT}"


def test_there_are_no_settings_of_the_whole_cluster(broker: InProcessBroker) -> None:
    assert configs(broker, BROKER, "") == {}


@pytest.mark.parametrize(
    ("resource_type", "name"),
    [(BROKER, "2"), (BROKER, "one"), (BROKER, "-"), (8, "1"), (16, "a"), (32, "a"), (0, "a")],
)
def test_other_brokers_and_other_types_are_an_invalid_request(
    broker: InProcessBroker, resource_type: int, name: str
) -> None:
    found = ask(broker, resource_type, name)
    assert (found.error_code, found.configs) == (ErrorCode.INVALID_REQUEST, [])
    assert found.error_message


def test_each_resource_is_answered_for_itself(broker: InProcessBroker) -> None:
    broker.create_topic("a")
    resources = [Resource(resource_type=TOPIC, resource_name=name) for name in ("a", "b", "a")]
    answer = broker.call(DescribeConfigsRequest(resources=resources), 4)
    assert [(one.resource_name, one.error_code) for one in answer.results] == [
        ("a", 0),
        ("b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", 0),
    ]
