"""Config changes: from what AlterConfigs and IncrementalAlterConfigs ask to a topic's new settings.

Owns: the checks Kafka makes, in Kafka's order, and what each operation does to a value.
Never knows: the wire layout of the requests.

A resource changes as a whole or not at all. The broker's own settings are read once, at its start,
so every change of them is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from broker.config_resources import (
    ResourceType,
    check_broker_name,
    find_topic,
    unknown_type,
)
from broker.config_values import ConfigType, split_list
from broker.topic_changes import configure_topic, validated_configs
from broker.topic_configs import DEFINITIONS, broker_default
from broker.topics import validate_name
from protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.broker import Broker


class Operation(IntEnum):
    """Kafka's numbers."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


OPERATIONS = frozenset(map(int, Operation))


class ConfigChange(NamedTuple):
    """One operation on one setting."""

    name: str
    value: str | None
    operation: int = Operation.SET


def change_configs(
    broker: Broker,
    resource: tuple[int, str],
    changes: Sequence[ConfigChange],
    *,
    replace: bool,
    validate_only: bool,
) -> None:
    """Change a resource's settings; with `replace`, those not named go back to their defaults."""
    resource_type, name = resource
    _check_changes(changes)
    if resource_type == ResourceType.BROKER:
        check_broker_name(broker, name)
        _refuse_broker_changes(changes)
    elif resource_type == ResourceType.TOPIC:
        _change_topic(broker, name, changes, replace, validate_only)
    else:
        raise unknown_type(resource_type)


def _check_changes(changes: Sequence[ConfigChange]) -> None:
    if any(count > 1 for count in Counter(change.name for change in changes).values()):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    for name, value, operation in changes:
        if operation not in OPERATIONS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"There is no operation {operation}.")
        if value is None and operation != Operation.DELETE:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {name}")


def _refuse_broker_changes(changes: Sequence[ConfigChange]) -> None:
    if changes:
        names = ", ".join(change.name for change in changes)
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Cannot update these configs dynamically: [{names}]; restart the broker with them.",
        )


def _change_topic(
    broker: Broker,
    name: str,
    changes: Sequence[ConfigChange],
    replace: bool,
    validate_only: bool,
) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    validate_name(name)
    topic = broker.topics.get(name)
    own = {} if topic is None or replace else topic.configs
    changed = validated_configs(
        {
            change.name: _new_value(broker, own, change)
            for change in changes
            if change.operation != Operation.DELETE
        }
    )
    deleted = {change.name for change in changes if change.operation == Operation.DELETE}
    kept = {key: value for key, value in own.items() if key not in deleted}
    # Only now, as in Kafka: bad settings of an unknown topic are reported as bad settings.
    topic = find_topic(broker, name)
    if not validate_only:
        configure_topic(broker, topic, {**kept, **changed})


def _new_value(broker: Broker, own: dict[str, str], change: ConfigChange) -> str | None:
    name, value, operation = change
    if operation == Operation.SET or value is None:
        return value
    definition = DEFINITIONS.get(name)
    if definition is None or definition.config_type is not ConfigType.LIST:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Can't {Operation(operation).name} to key {name} because its type is not LIST.",
        )
    current = own.get(name)
    if current is None:
        current = broker_default(definition, broker.settings)
    items, given = split_list(current), split_list(value)
    if operation == Operation.APPEND:
        return ",".join(items + given)
    return ",".join(item for item in items if item not in given)
