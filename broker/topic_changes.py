"""Decisions about topics: create, grow, delete, configure. Shared by Metadata's auto-creation and the admin APIs.

Owns: the checks Kafka makes before each, and the changes that follow.
Never knows: the wire layout of the requests.

Replication: there is one replica. A larger replication factor is accepted and counts as 1, because
applications and test suites ask for 3 by habit; explicit replica assignments are read for their number of
partitions only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from broker.changes import PartitionsAdded, TopicConfigured, TopicCreated, TopicDeleted
from broker.limits import PARTITIONS_MAX, PARTITIONS_PER_TOPIC_MAX
from broker.topic_configs import InvalidConfig, validate
from broker.topics import Topic, validate_name
from protocol.errors import ErrorCode, KafkaError
from storage.errors import StorageFull

if TYPE_CHECKING:
    from broker.broker import Broker
    from broker.changes import Change


def check_new_topic(
    broker: Broker, name: str, partition_count: int, configs: Mapping[str, str | None]
) -> None:
    """Everything that can be wrong with a topic to be created."""
    validate_name(name)
    if broker.topics.get(name) is not None:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    colliding = broker.topics.colliding(name)
    if colliding is not None:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {colliding}",
        )
    _check_partition_count(broker, partition_count, partition_count)
    try:
        validate(configs)
    except InvalidConfig as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _check_partition_count(broker: Broker, total: int, added: int) -> None:
    if total > PARTITIONS_PER_TOPIC_MAX:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, f"a topic can have {PARTITIONS_PER_TOPIC_MAX} partitions"
        )
    if broker.topics.partition_count + added > PARTITIONS_MAX:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, f"this broker can have {PARTITIONS_MAX} partitions in all"
        )


def create_topic(
    broker: Broker, name: str, partition_count: int, configs: Mapping[str, str]
) -> Topic:
    """Create a topic that `check_new_topic` found good."""
    topic_id = broker.new_id()
    change = TopicCreated(
        topic_id=topic_id,
        name=name,
        directories=_directories(broker, name, 0, partition_count),
        configs=dict(configs),
        created_ms=broker.now_ms(),
    )
    _commit(broker, change)
    topic = broker.topics.get_by_id(topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the topic vanished while it was created")
    return topic


def add_partitions(broker: Broker, topic: Topic, total: int) -> None:
    """Grow a topic to `total` partitions."""
    have = len(topic.partitions)
    if total <= have:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {have} partition(s); {total} would not be an increase.",
        )
    _check_partition_count(broker, total, total - have)
    _commit(
        broker,
        PartitionsAdded(topic.topic_id, _directories(broker, topic.name, have, total - have)),
    )


def delete_topic(broker: Broker, topic: Topic) -> None:
    """Delete a topic with all its records."""
    _commit(broker, TopicDeleted(topic.topic_id))


def configure_topic(broker: Broker, topic: Topic, configs: Mapping[str, str]) -> None:
    """Replace the topic's own settings; they have been validated."""
    _commit(broker, TopicConfigured(topic.topic_id, dict(configs)))


def _directories(broker: Broker, name: str, first: int, count: int) -> list[str]:
    """Folder names for new partitions; a deleted topic's folder may still be there for a while."""
    return [broker.store.free_directory(name, first + index) for index in range(count)]


def _commit(broker: Broker, change: Change) -> None:
    try:
        broker.durability.commit((change,))
    except StorageFull as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None
