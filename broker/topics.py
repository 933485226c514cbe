"""Topics: the catalogue of topics by name and by id, and the rules for their names.

Owns: Topic objects, name validation, the lookups every API needs.
Never knows: requests, the journal, files (a partition's log is handed in).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from broker.limits import TOPIC_NAME_LENGTH_MAX
from broker.partition import Partition
from broker.topic_configs import TopicConfig
from protocol.errors import ErrorCode, KafkaError

_NAME = re.compile(r"[a-zA-Z0-9._-]+")

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__cluster_metadata"})


class Topic:
    """One topic: identity, its own settings and its partitions."""

    __slots__ = (
        "config",
        "configs",
        "conflicting_duplicates",
        "created_ms",
        "name",
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        topic_id: bytes,
        name: str,
        configs: dict[str, str],
        config: TopicConfig,
        created_ms: int,
    ) -> None:
        self.topic_id = topic_id
        self.name = name
        self.configs = configs
        self.config = config
        self.created_ms = created_ms
        self.partitions: list[Partition] = []
        self.conflicting_duplicates = 0
        """Batches refused since the start because a known sequence range came with other bytes."""

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


def validate_name(name: str) -> None:
    """Raise the error Kafka gives for a name that cannot be a topic's."""
    if not name:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "the topic name is empty")
    if name in (".", ".."):
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "the topic name cannot be . or ..")
    if len(name) > TOPIC_NAME_LENGTH_MAX:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"the topic name is longer than {TOPIC_NAME_LENGTH_MAX} characters",
        )
    if _NAME.fullmatch(name) is None:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "the topic name holds a character other than letters, digits, '.', '_' and '-'",
        )


def collision_key(name: str) -> str:
    """Names that differ only in '.' and '_' would share a metric name in Kafka, so they collide."""
    return name.replace(".", "_")


class Topics:
    """All topics."""

    __slots__ = ("_by_collision_key", "_by_id", "_by_name", "partition_count")

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self._by_collision_key: dict[str, str] = {}
        self.partition_count = 0

    def add(self, topic: Topic) -> None:
        self._by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        self._by_collision_key[collision_key(topic.name)] = topic.name

    def remove(self, topic: Topic) -> None:
        del self._by_name[topic.name]
        del self._by_id[topic.topic_id]
        self._by_collision_key.pop(collision_key(topic.name), None)

    def get(self, name: str | None) -> Topic | None:
        return self._by_name.get(name) if name is not None else None

    def get_by_id(self, topic_id: bytes | None) -> Topic | None:
        return self._by_id.get(topic_id) if topic_id is not None else None

    def partition(self, topic_id: bytes, index: int) -> Partition:
        """The partition a journaled change names; it must exist."""
        return self._by_id[topic_id].partitions[index]

    def colliding(self, name: str) -> str | None:
        """Another topic's name that cannot stand beside this one."""
        return self._by_collision_key.get(collision_key(name))

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def names(self) -> list[str]:
        return sorted(self._by_name)
