"""Config resources: the things that have settings, as requests name them: topics and this broker.

Owns: which resource types there are here and how a resource's name is understood.
Never knows: the settings themselves.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from broker.topics import Topic, validate_name
from protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.broker import Broker


class ResourceType(IntEnum):
    """Kafka's numbers. Broker loggers (8), client metrics (16) and groups (32) are not served."""

    TOPIC = 2
    BROKER = 4


ALL_BROKERS = ""
"""The name under which settings of the whole cluster are kept; there are none here."""


def unknown_type(resource_type: int) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_REQUEST, f"There are no settings for resource type {resource_type}."
    )


def find_topic(broker: Broker, name: str) -> Topic:
    """The topic of that name, or KafkaError."""
    validate_name(name)
    topic = broker.topics.get(name)
    if topic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
        )
    return topic


def check_broker_name(broker: Broker, name: str) -> None:
    """A broker is named by its node id; the empty name means all brokers."""
    if name == ALL_BROKERS:
        return
    if not name.removeprefix("-").isdecimal():
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
        )
    if name != str(broker.node_id):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {broker.node_id} or the empty name, "
            f"but received {name}",
        )
