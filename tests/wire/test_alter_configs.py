"""AlterConfigs and IncrementalAlterConfigs of topics."""

from typing import Any

import pytest

from tests.wire.support import batches, configs
from tests.wire.support.broker import Broker, poll_until
from tests.wire.support.configs import APPEND, DELETE, DYNAMIC_TOPIC, SET, SUBTRACT, change
from tests.wire.support.connection import Connection
from tests.wire.support.error_codes import (
    INVALID_CONFIG,
    INVALID_REQUEST,
    MESSAGE_TOO_LARGE,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.wire.support.requests import Topic

INCREMENTAL_VERSIONS = range(2)
REPLACE_VERSIONS = range(3)


@pytest.fixture
def topic(broker: Broker) -> Topic:
    return broker.create_topic(configs={"retention.ms": "1000", "segment.ms": "2000"})


def set_configs(broker: Broker, topic: Topic) -> dict[str, str]:
    """What is set on the topic itself."""
    (found,) = broker.call(configs.describe(topic.name), 4).results
    return {one.name: one.value for one in found.configs if one.config_source == DYNAMIC_TOPIC}


def wait_for(broker: Broker, topic: Topic, expected: dict[str, str]) -> None:
    poll_until(lambda: set_configs(broker, topic) == expected, f"configs {expected}")


def apply(connection: Connection, *resources: Any, version: int = 1, **more: Any) -> list[Any]:
    answer = connection.call(configs.incremental(*resources, **more), version)
    assert answer.throttle_time_ms == 0
    return list(answer.responses)


def error_of(connection: Connection, resource: Any, version: int = 1, **more: Any) -> int:
    (only,) = apply(connection, resource, version=version, **more)
    assert (only.resource_type, only.resource_name) == (
        resource.resource_type,
        resource.resource_name,
    )
    assert bool(only.error_message) == (only.error_code != 0)
    return int(only.error_code)


@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
def test_set_changes_one_config_and_keeps_the_others(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    assert error_of(connection, change(topic.name, ("retention.ms", SET, "5000")), version) == 0
    wait_for(broker, topic, {"retention.ms": "5000", "segment.ms": "2000"})


@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
@pytest.mark.parametrize("value", [None, "ignored"])
def test_delete_reverts_one_config_to_its_default(
    connection: Connection, broker: Broker, topic: Topic, version: int, value: str | None
) -> None:
    gone = change(topic.name, ("retention.ms", DELETE, value))
    assert error_of(connection, gone, version) == 0
    wait_for(broker, topic, {"segment.ms": "2000"})


def test_deleting_what_was_not_set_is_no_error(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    assert error_of(connection, change(topic.name, ("flush.ms", DELETE, None))) == 0
    assert set_configs(broker, topic) == {"retention.ms": "1000", "segment.ms": "2000"}


@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
def test_append_and_subtract_work_on_lists(
    connection: Connection, broker: Broker, version: int
) -> None:
    topic = broker.create_topic()
    more = change(topic.name, ("cleanup.policy", APPEND, "compact"))
    assert error_of(connection, more, version) == 0
    wait_for(broker, topic, {"cleanup.policy": "delete,compact"})
    less = change(topic.name, ("cleanup.policy", SUBTRACT, "delete"))
    assert error_of(connection, less, version) == 0
    wait_for(broker, topic, {"cleanup.policy": "compact"})


def test_appending_what_is_there_changes_nothing(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic(configs={"cleanup.policy": "compact,delete"})
    assert error_of(connection, change(topic.name, ("cleanup.policy", APPEND, "delete"))) == 0
    assert set_configs(broker, topic) == {"cleanup.policy": "compact,delete"}


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
def test_append_and_subtract_are_refused_for_what_is_no_list(
    connection: Connection, broker: Broker, topic: Topic, version: int, operation: int
) -> None:
    bad = change(topic.name, ("retention.ms", operation, "1"))
    assert error_of(connection, bad, version) == INVALID_CONFIG
    assert set_configs(broker, topic) == {"retention.ms": "1000", "segment.ms": "2000"}


@pytest.mark.parametrize("operation", [SET, APPEND, SUBTRACT])
@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
def test_null_is_no_value_except_for_delete(
    connection: Connection, topic: Topic, version: int, operation: int
) -> None:
    bad = change(topic.name, ("cleanup.policy", operation, None))
    assert error_of(connection, bad, version) == INVALID_REQUEST


@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("no.such.config", "1"),
        ("retention.ms", "soon"),
        ("cleanup.policy", "burn"),
        ("max.message.bytes", "-1"),
    ],
)
def test_a_bad_config_is_refused(
    connection: Connection, broker: Broker, topic: Topic, version: int, key: str, value: str
) -> None:
    assert error_of(connection, change(topic.name, (key, SET, value)), version) == INVALID_CONFIG
    assert set_configs(broker, topic) == {"retention.ms": "1000", "segment.ms": "2000"}


def test_an_unknown_operation_is_refused(
    connection: Connection, broker: Broker, topic: Topic
) -> None:
    (only,) = apply(connection, change(topic.name, ("retention.ms", 9, "1")))
    assert only.error_code != 0
    assert set_configs(broker, topic) == {"retention.ms": "1000", "segment.ms": "2000"}


@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
def test_a_key_named_twice_is_an_invalid_request(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    bad = change(topic.name, ("retention.ms", SET, "1"), ("retention.ms", DELETE, None))
    assert error_of(connection, bad, version) == INVALID_REQUEST
    assert set_configs(broker, topic) == {"retention.ms": "1000", "segment.ms": "2000"}


@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
def test_a_resource_named_twice_is_an_invalid_request(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    first = change(topic.name, ("retention.ms", SET, "1"))
    second = change(topic.name, ("segment.ms", SET, "1"))
    found = apply(connection, first, second, version=version)
    assert {one.error_code for one in found} == {INVALID_REQUEST}
    assert set_configs(broker, topic) == {"retention.ms": "1000", "segment.ms": "2000"}


@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
def test_the_changes_of_one_resource_are_all_or_nothing(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    mixed = change(topic.name, ("segment.ms", SET, "3000"), ("retention.ms", SET, "soon"))
    assert error_of(connection, mixed, version) == INVALID_CONFIG
    assert set_configs(broker, topic) == {"retention.ms": "1000", "segment.ms": "2000"}


@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
def test_a_bad_resource_stops_no_other(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    unknown = broker.unique_name()
    found = apply(
        connection,
        change(unknown, ("retention.ms", SET, "1")),
        change(topic.name, ("retention.ms", SET, "7000")),
        version=version,
    )
    codes = {one.resource_name: one.error_code for one in found}
    assert codes == {unknown: UNKNOWN_TOPIC_OR_PARTITION, topic.name: 0}
    wait_for(broker, topic, {"retention.ms": "7000", "segment.ms": "2000"})


@pytest.mark.parametrize("version", INCREMENTAL_VERSIONS)
def test_validate_only_changes_nothing(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    good = change(topic.name, ("retention.ms", SET, "5"))
    assert error_of(connection, good, version, validate_only=True) == 0
    bad = change(topic.name, ("retention.ms", SET, "soon"))
    assert error_of(connection, bad, version, validate_only=True) == INVALID_CONFIG
    assert set_configs(broker, topic) == {"retention.ms": "1000", "segment.ms": "2000"}


def test_a_change_takes_effect(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic()
    batch = batches.batch_of_size(2000)
    assert broker.produce(topic, batch) == 0
    assert error_of(connection, change(topic.name, ("max.message.bytes", SET, "1000"))) == 0
    poll_until(
        lambda: broker.try_produce(topic, batch).error_code == MESSAGE_TOO_LARGE, "the new limit"
    )
    assert error_of(connection, change(topic.name, ("max.message.bytes", DELETE, None))) == 0
    poll_until(lambda: broker.try_produce(topic, batch).error_code == 0, "the old limit")


def replaced(connection: Connection, resource: Any, version: int, **more: Any) -> int:
    answer = connection.call(configs.replace(resource, **more), version)
    (only,) = answer.responses
    assert bool(only.error_message) == (only.error_code != 0)
    return int(only.error_code)


@pytest.mark.parametrize("version", REPLACE_VERSIONS)
def test_alter_replaces_the_whole_set(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    new = configs.replacement(topic.name, {"retention.ms": "9000", "flush.ms": "1"})
    assert replaced(connection, new, version) == 0
    wait_for(broker, topic, {"retention.ms": "9000", "flush.ms": "1"})


@pytest.mark.parametrize("version", REPLACE_VERSIONS)
def test_alter_with_nothing_reverts_everything(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    assert replaced(connection, configs.replacement(topic.name, {}), version) == 0
    wait_for(broker, topic, {})


@pytest.mark.parametrize("version", REPLACE_VERSIONS)
def test_alter_refuses_a_bad_config_and_changes_nothing(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    bad = configs.replacement(topic.name, {"flush.ms": "1", "retention.ms": "soon"})
    assert replaced(connection, bad, version) == INVALID_CONFIG
    assert set_configs(broker, topic) == {"retention.ms": "1000", "segment.ms": "2000"}


@pytest.mark.parametrize("version", REPLACE_VERSIONS)
def test_alter_refuses_null(connection: Connection, topic: Topic, version: int) -> None:
    bad = configs.replacement(topic.name, {"flush.ms": None})
    assert replaced(connection, bad, version) == INVALID_REQUEST


@pytest.mark.parametrize("version", REPLACE_VERSIONS)
def test_alter_of_an_unknown_topic_is_an_error(
    connection: Connection, broker: Broker, version: int
) -> None:
    unknown = configs.replacement(broker.unique_name(), {"flush.ms": "1"})
    assert replaced(connection, unknown, version) == UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", REPLACE_VERSIONS)
def test_alter_validates_only_when_told_so(
    connection: Connection, broker: Broker, topic: Topic, version: int
) -> None:
    new = configs.replacement(topic.name, {"flush.ms": "1"})
    assert replaced(connection, new, version, validate_only=True) == 0
    assert set_configs(broker, topic) == {"retention.ms": "1000", "segment.ms": "2000"}
