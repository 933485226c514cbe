"""Decisions about topics: create, grow, delete, configure; for Metadata and the admin APIs alike.

Owns: the checks Kafka makes before each, in Kafka's order, and the changes that follow.
Never knows: the wire layout of the requests.

Replication: there is one replica. A larger replication factor is accepted and counts as 1, because
applications and test suites ask for 3 by habit. Explicit replica assignments are read for their
number of partitions only; one that names a single broker must name this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker.changes import PartitionsAdded, TopicConfigured, TopicCreated, TopicDeleted
from broker.config_values import InvalidConfig
from broker.limits import (
    NEW_PARTITIONS_PER_REQUEST_MAX,
    PARTITIONS_MAX,
    PARTITIONS_PER_TOPIC_MAX,
)
from broker.topic_configs import validated
from broker.topics import INTERNAL_TOPICS, Topic, validate_name
from protocol.errors import ErrorCode, KafkaError
from storage.errors import StorageFull

if TYPE_CHECKING:
    from broker.broker import Broker
    from broker.changes import Change

USE_DEFAULT = -1
"""As a number of partitions or replicas: whatever the broker's settings say."""

Assignment = tuple[int, Sequence[int]]
"""A partition and the brokers that shall hold it."""


@dataclass(frozen=True, slots=True)
class TopicWish:
    """A topic as a client wants it."""

    name: str
    partition_count: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    assignments: Sequence[Assignment] = ()
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic that can be created as it stands here."""

    name: str
    partition_count: int
    configs: dict[str, str]


class PartitionBudget:
    """How many partitions one request may still make."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = NEW_PARTITIONS_PER_REQUEST_MAX

    def take(self, count: int) -> None:
        if count > self._left:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"One request can make {NEW_PARTITIONS_PER_REQUEST_MAX} partitions.",
            )
        self._left -= count


def auto_create_topic(broker: Broker, budget: PartitionBudget, name: str) -> Topic:
    """Create a topic that a client only mentioned, or raise KafkaError."""
    return create_topic(broker, plan_topic(broker, budget, TopicWish(name)))


def plan_topic(broker: Broker, budget: PartitionBudget, wish: TopicWish) -> TopicPlan:
    """The topic that follows from the wish, or KafkaError with what is wrong with it."""
    _check_name(broker, wish.name)
    configs = validated_configs(wish.configs)
    if wish.assignments:
        partition_count = _count_assigned(broker, wish)
    else:
        partition_count = _count_wanted(broker, wish)
    _check_limits(broker, budget, partition_count, partition_count)
    return TopicPlan(wish.name, partition_count, configs)


def _check_name(broker: Broker, name: str) -> None:
    if name in INTERNAL_TOPICS:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
        )
    validate_name(name)
    if broker.topics.get(name) is not None:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    colliding = broker.topics.colliding(name)
    if colliding is not None:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {colliding}",
        )


def validated_configs(configs: Mapping[str, str | None]) -> dict[str, str]:
    """The settings in canonical form, or KafkaError."""
    try:
        return validated(configs)
    except InvalidConfig as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _count_wanted(broker: Broker, wish: TopicWish) -> int:
    if wish.replication_factor < USE_DEFAULT or wish.replication_factor == 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if wish.partition_count == USE_DEFAULT:
        return broker.settings.num_partitions
    if wish.partition_count <= 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions must be larger than 0, or -1 to use the default value.",
        )
    return wish.partition_count


def _count_assigned(broker: Broker, wish: TopicWish) -> int:
    if wish.replication_factor != USE_DEFAULT or wish.partition_count != USE_DEFAULT:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "With a manual partition assignment, number of partitions and replication factor "
            "must be -1.",
        )
    partitions: set[int] = set()
    for partition, brokers in wish.assignments:
        if partition in partitions:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {partition}",
            )
        partitions.add(partition)
        check_assigned_brokers(broker, brokers)
    if partitions != set(range(len(partitions))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Assigned partitions must be numbered from 0 without gaps.",
        )
    return len(partitions)


def check_assigned_brokers(broker: Broker, brokers: Sequence[int]) -> None:
    """The shape of one partition's list of brokers; several count as this one, like replicas."""
    if not brokers:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes an empty replica list.",
        )
    if len(set(brokers)) != len(brokers):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes a broker more than once.",
        )
    unknown = [node for node in brokers if node < 0]
    if len(brokers) == 1 and brokers[0] != broker.node_id:
        unknown = list(brokers)
    if unknown:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"The manual partition assignment includes broker {unknown[0]}, but there is none.",
        )


def _check_limits(broker: Broker, budget: PartitionBudget, total: int, added: int) -> None:
    if total > PARTITIONS_PER_TOPIC_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"A topic can have {PARTITIONS_PER_TOPIC_MAX} partitions, not {total}.",
        )
    if broker.topics.partition_count + added > PARTITIONS_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"This broker can have {PARTITIONS_MAX} partitions in all; "
            f"it has {broker.topics.partition_count}.",
        )
    budget.take(added)


def create_topic(broker: Broker, plan: TopicPlan) -> Topic:
    """Create a planned topic."""
    topic_id = broker.new_id()
    change = TopicCreated(
        topic_id=topic_id,
        name=plan.name,
        directories=_directories(broker, plan.name, 0, plan.partition_count),
        configs=plan.configs,
        created_ms=broker.now_ms(),
    )
    _commit(broker, change)
    topic = broker.topics.get_by_id(topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the topic vanished while it was created")
    return topic


def check_growth(
    broker: Broker,
    budget: PartitionBudget,
    topic: Topic,
    total: int,
    assignments: Sequence[Sequence[int]] | None,
) -> None:
    """What can be wrong with growing a topic to `total` partitions."""
    have = len(topic.partitions)
    if total == have:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
    if total < have:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {have} partition(s); "
            f"{total} would not be an increase.",
        )
    if assignments is not None:
        if len(assignments) != total - have:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {total - have} additional partition(s), "
                f"but {len(assignments)} assignment(s) were specified.",
            )
        for brokers in assignments:
            check_assigned_brokers(broker, brokers)
    _check_limits(broker, budget, total, total - have)


def add_partitions(broker: Broker, topic: Topic, total: int) -> None:
    """Grow a topic to `total` partitions; `check_growth` found that good."""
    have = len(topic.partitions)
    directories = _directories(broker, topic.name, have, total - have)
    _commit(broker, PartitionsAdded(topic.topic_id, directories))


def delete_topic(broker: Broker, topic: Topic) -> None:
    """Delete a topic with all its records."""
    _commit(broker, TopicDeleted(topic.topic_id))


def configure_topic(broker: Broker, topic: Topic, configs: Mapping[str, str]) -> None:
    """Replace the topic's own settings; they have been validated."""
    if configs != topic.configs:
        _commit(broker, TopicConfigured(topic.topic_id, dict(configs)))


def _directories(broker: Broker, name: str, first: int, count: int) -> list[str]:
    """Folder names for new partitions; a deleted topic's folder may still be there for a while."""
    return [broker.store.free_directory(name, first + index) for index in range(count)]


def _commit(broker: Broker, change: Change) -> None:
    try:
        broker.durability.commit((change,))
    except StorageFull as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None
