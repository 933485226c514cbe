"""TopicConfig: the settings of a topic under Kafka's own names: which exist, what they accept, what they mean.

Owns: the table of topic settings, validation of values, the effective values a topic runs with.
Never knows: requests, where a topic's own settings are stored.

A topic's own value wins over the broker's setting of the same meaning (`synonym`), which wins over Kafka's
default. Settings that only make sense for a cluster are accepted, kept and shown, and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from broker.settings import INT32_MAX, INT64_MAX, Settings


class ConfigType(IntEnum):
    """How DescribeConfigs names a value's type (Kafka's numbers)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


class InvalidConfig(ValueError):
    """A topic setting that does not exist or a value it does not take; one sentence for the client."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One topic setting. `synonym` is the broker setting that gives the default, if there is one."""

    name: str
    config_type: ConfigType
    default: str
    doc: str
    check: Callable[[str], None]
    synonym: str | None = None
    synonym_field: str | None = None
    effective: bool = True


def _number(
    least: float, most: float, parse: Callable[[str], float] = int
) -> Callable[[str], None]:
    def check(text: str) -> None:
        try:
            value = parse(text.strip())
        except ValueError:
            raise InvalidConfig("not a number") from None
        if not least <= value <= most:
            raise InvalidConfig(f"must lie between {least} and {most}")

    return check


def _one_of(*choices: str) -> Callable[[str], None]:
    def check(text: str) -> None:
        if text not in choices:
            raise InvalidConfig(f"must be one of {', '.join(choices)}")

    return check


def _list_of(*choices: str) -> Callable[[str], None]:
    def check(text: str) -> None:
        items = [item.strip() for item in text.split(",")] if text.strip() else []
        unknown = [item for item in items if item not in choices]
        if unknown:
            raise InvalidConfig(f"{unknown[0]!r} is not one of {', '.join(choices)}")
        if len(set(items)) != len(items):
            raise InvalidConfig("names an item twice")

    return check


def _boolean(text: str) -> None:
    if text.strip().lower() not in ("true", "false"):
        raise InvalidConfig("must be true or false")


def _anything(_: str) -> None:
    """Free text."""


_LONG = ConfigType.LONG
_INT = ConfigType.INT

DEFINITIONS: dict[str, Definition] = {
    item.name: item
    for item in (
        Definition(
            "cleanup.policy",
            ConfigType.LIST,
            "delete",
            "What happens to old records: delete drops old segments, compact keeps the last record per key.",
            _list_of("delete", "compact"),
            "log.cleanup.policy",
            "log_cleanup_policy",
        ),
        Definition(
            "compression.type",
            ConfigType.STRING,
            "producer",
            "Codec of stored batches; producer keeps what was sent.",
            _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
            "compression.type",
            "compression_type",
        ),
        Definition(
            "delete.retention.ms",
            _LONG,
            "86400000",
            "How long a tombstone is kept after compaction first saw it.",
            _number(0, INT64_MAX),
        ),
        Definition(
            "max.message.bytes",
            _INT,
            "1048588",
            "Largest record batch the topic takes, as sent.",
            _number(0, INT32_MAX),
            "message.max.bytes",
            "message_max_bytes",
        ),
        Definition(
            "message.timestamp.type",
            ConfigType.STRING,
            "CreateTime",
            "Whose clock stamps the records: the producer's or the broker's.",
            _one_of("CreateTime", "LogAppendTime"),
            "log.message.timestamp.type",
            "log_message_timestamp_type",
        ),
        Definition(
            "message.timestamp.before.max.ms",
            _LONG,
            str(INT64_MAX),
            "How far in the past a record's timestamp may lie.",
            _number(0, INT64_MAX),
            "log.message.timestamp.before.max.ms",
            "log_message_timestamp_before_max_ms",
        ),
        Definition(
            "message.timestamp.after.max.ms",
            _LONG,
            "3600000",
            "How far in the future a record's timestamp may lie.",
            _number(0, INT64_MAX),
            "log.message.timestamp.after.max.ms",
            "log_message_timestamp_after_max_ms",
        ),
        Definition(
            "retention.ms",
            _LONG,
            "604800000",
            "Age at which records may be deleted; -1 keeps them for ever.",
            _number(-1, INT64_MAX),
            "log.retention.ms",
            "log_retention_ms",
        ),
        Definition(
            "retention.bytes",
            _LONG,
            "-1",
            "Size a partition is cut down to; -1 is without limit.",
            _number(-1, INT64_MAX),
            "log.retention.bytes",
            "log_retention_bytes",
        ),
        Definition(
            "segment.bytes",
            _INT,
            "1073741824",
            "Size at which a new segment file is started.",
            _number(1024, INT32_MAX),
            "log.segment.bytes",
            "log_segment_bytes",
        ),
        Definition(
            "segment.ms",
            _LONG,
            "604800000",
            "Age at which a new segment file is started.",
            _number(1, INT64_MAX),
            "log.roll.ms",
            "log_roll_ms",
        ),
        Definition(
            "min.compaction.lag.ms",
            _LONG,
            "0",
            "Least age of a record before compaction may touch it.",
            _number(0, INT64_MAX),
        ),
        Definition(
            "max.compaction.lag.ms",
            _LONG,
            str(INT64_MAX),
            "Greatest time a record may wait for compaction.",
            _number(1, INT64_MAX),
        ),
        Definition(
            "min.cleanable.dirty.ratio",
            ConfigType.DOUBLE,
            "0.5",
            "Share of a log that must be new before compaction starts.",
            _number(0, 1, float),
        ),
        Definition(
            "min.insync.replicas",
            _INT,
            "1",
            "Accepted for compatibility; there is one replica and it is always in sync.",
            _number(1, INT32_MAX),
            effective=False,
        ),
        Definition(
            "unclean.leader.election.enable",
            ConfigType.BOOLEAN,
            "false",
            "Accepted for compatibility; there are no elections.",
            _boolean,
            effective=False,
        ),
        Definition(
            "index.interval.bytes",
            _INT,
            "4096",
            "Accepted for compatibility; an index entry is made every 4096 bytes.",
            _number(0, INT32_MAX),
            effective=False,
        ),
        Definition(
            "segment.index.bytes",
            _INT,
            "10485760",
            "Accepted for compatibility; indexes grow as needed.",
            _number(4, INT32_MAX),
            effective=False,
        ),
        Definition(
            "segment.jitter.ms",
            _LONG,
            "0",
            "Accepted for compatibility; segments of one process need no jitter.",
            _number(0, INT64_MAX),
            effective=False,
        ),
        Definition(
            "file.delete.delay.ms",
            _LONG,
            "60000",
            "Accepted for compatibility; files go with the checkpoint that forgets them.",
            _number(0, INT64_MAX),
            effective=False,
        ),
        Definition(
            "flush.messages",
            _LONG,
            str(INT64_MAX),
            "Accepted for compatibility; every answer is durable.",
            _number(1, INT64_MAX),
            effective=False,
        ),
        Definition(
            "flush.ms",
            _LONG,
            str(INT64_MAX),
            "Accepted for compatibility; every answer is durable.",
            _number(0, INT64_MAX),
            effective=False,
        ),
        Definition(
            "preallocate",
            ConfigType.BOOLEAN,
            "false",
            "Accepted for compatibility.",
            _boolean,
            effective=False,
        ),
        Definition(
            "leader.replication.throttled.replicas",
            ConfigType.LIST,
            "",
            "Accepted for compatibility; there is no replication.",
            _anything,
            effective=False,
        ),
        Definition(
            "follower.replication.throttled.replicas",
            ConfigType.LIST,
            "",
            "Accepted for compatibility; there is no replication.",
            _anything,
            effective=False,
        ),
        Definition(
            "compression.gzip.level",
            _INT,
            "-1",
            "Level used when the broker itself compresses with gzip.",
            _number(-1, 9),
            effective=False,
        ),
        Definition(
            "compression.lz4.level",
            _INT,
            "9",
            "Level used when the broker itself compresses with lz4.",
            _number(1, 17),
            effective=False,
        ),
        Definition(
            "compression.zstd.level",
            _INT,
            "3",
            "Level used when the broker itself compresses with zstd.",
            _number(-131072, 22),
            effective=False,
        ),
        Definition(
            "remote.storage.enable",
            ConfigType.BOOLEAN,
            "false",
            "Accepted for compatibility; there is no tiered storage.",
            _one_of("false"),
            effective=False,
        ),
        Definition(
            "local.retention.ms",
            _LONG,
            "-2",
            "Accepted for compatibility; there is no tiered storage.",
            _number(-2, INT64_MAX),
            effective=False,
        ),
        Definition(
            "local.retention.bytes",
            _LONG,
            "-2",
            "Accepted for compatibility; there is no tiered storage.",
            _number(-2, INT64_MAX),
            effective=False,
        ),
    )
}


def validate(configs: Mapping[str, str | None]) -> None:
    """Raise InvalidConfig for the first name or value that cannot be."""
    for name, value in configs.items():
        definition = DEFINITIONS.get(name)
        if definition is None:
            raise InvalidConfig(f"Unknown topic config name: {name}")
        if value is None:
            raise InvalidConfig(f"Null value not supported for topic configs: {name}")
        try:
            definition.check(value)
        except InvalidConfig as error:
            raise InvalidConfig(
                f"Invalid value {value} for configuration {name}: {error}"
            ) from None


def broker_default(definition: Definition, settings: Settings) -> str:
    """The value a topic has that does not set its own."""
    if definition.synonym_field is None:
        return definition.default
    value: Any = getattr(settings, definition.synonym_field)
    return str(value)


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """The effective values that the hot paths ask for, parsed once per change."""

    max_message_bytes: int
    segment_bytes: int
    segment_ms: int
    retention_ms: int
    retention_bytes: int
    is_compacted: bool
    is_deleted: bool
    uses_log_append_time: bool
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    compression_type: str

    @classmethod
    def build(cls, own: Mapping[str, str], settings: Settings) -> TopicConfig:
        """Effective values from a topic's own settings and the broker's."""

        def value(name: str) -> str:
            text = own.get(name)
            return broker_default(DEFINITIONS[name], settings) if text is None else text

        policies = {item.strip() for item in value("cleanup.policy").split(",")}
        return cls(
            max_message_bytes=int(value("max.message.bytes")),
            segment_bytes=int(value("segment.bytes")),
            segment_ms=int(value("segment.ms")),
            retention_ms=int(value("retention.ms")),
            retention_bytes=int(value("retention.bytes")),
            is_compacted="compact" in policies,
            is_deleted="delete" in policies,
            uses_log_append_time=value("message.timestamp.type") == "LogAppendTime",
            timestamp_before_max_ms=int(value("message.timestamp.before.max.ms")),
            timestamp_after_max_ms=int(value("message.timestamp.after.max.ms")),
            compression_type=value("compression.type"),
        )
