"""TopicConfig: a topic's settings under Kafka's own names: which exist, what they accept and mean.

Owns: the table of topic settings, validation of values, the effective values a topic runs with.
Never knows: requests, where a topic's own settings are stored.

A topic's own value wins over the broker's setting of the same meaning (`synonym`), which wins over
Kafka's default. Settings that only make sense for a cluster are accepted, kept and shown, and
change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker.config_values import (
    Canonical,
    ConfigType,
    InvalidConfig,
    boolean,
    integer,
    list_of,
    one_of,
    only_false,
    ratio,
    split_list,
    throttled_replicas,
)
from broker.settings import INT32_MAX, INT64_MAX, Settings


@dataclass(frozen=True, slots=True)
class Definition:
    """One topic setting.

    `synonym` is the name of Kafka's broker setting that gives the default, if there is one; where
    this broker has that setting too, `synonym_field` is its field in Settings.
    """

    name: str
    config_type: ConfigType
    default: str
    doc: str
    canonical: Canonical
    synonym: str | None = None
    synonym_field: str | None = None
    effective: bool = True


_LONG = ConfigType.LONG
_INT = ConfigType.INT

DEFINITIONS: dict[str, Definition] = {
    item.name: item
    for item in (
        Definition(
            "cleanup.policy",
            ConfigType.LIST,
            "delete",
            "What happens to old records: delete drops segments, compact keeps the last per key.",
            list_of("delete", "compact"),
            "log.cleanup.policy",
            "log_cleanup_policy",
        ),
        Definition(
            "compression.type",
            ConfigType.STRING,
            "producer",
            "Codec of stored batches; producer keeps what was sent.",
            one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
            "compression.type",
            "compression_type",
        ),
        Definition(
            "delete.retention.ms",
            _LONG,
            "86400000",
            "How long a tombstone is kept after compaction first saw it.",
            integer(0, INT64_MAX),
            "log.cleaner.delete.retention.ms",
        ),
        Definition(
            "max.message.bytes",
            _INT,
            "1048588",
            "Largest record batch the topic takes, as sent.",
            integer(0, INT32_MAX),
            "message.max.bytes",
            "message_max_bytes",
        ),
        Definition(
            "message.timestamp.type",
            ConfigType.STRING,
            "CreateTime",
            "Whose clock stamps the records: the producer's or the broker's.",
            one_of("CreateTime", "LogAppendTime"),
            "log.message.timestamp.type",
            "log_message_timestamp_type",
        ),
        Definition(
            "message.timestamp.before.max.ms",
            _LONG,
            str(INT64_MAX),
            "How far in the past a record's timestamp may lie.",
            integer(0, INT64_MAX),
            "log.message.timestamp.before.max.ms",
            "log_message_timestamp_before_max_ms",
        ),
        Definition(
            "message.timestamp.after.max.ms",
            _LONG,
            "3600000",
            "How far in the future a record's timestamp may lie.",
            integer(0, INT64_MAX),
            "log.message.timestamp.after.max.ms",
            "log_message_timestamp_after_max_ms",
        ),
        Definition(
            "retention.ms",
            _LONG,
            "604800000",
            "Age at which records may be deleted; -1 keeps them for ever.",
            integer(-1, INT64_MAX),
            "log.retention.ms",
            "log_retention_ms",
        ),
        Definition(
            "retention.bytes",
            _LONG,
            "-1",
            "Size a partition is cut down to; -1 is without limit.",
            integer(-1, INT64_MAX),
            "log.retention.bytes",
            "log_retention_bytes",
        ),
        Definition(
            "segment.bytes",
            _INT,
            "1073741824",
            "Size at which a new segment file is started.",
            integer(1024, INT32_MAX),
            "log.segment.bytes",
            "log_segment_bytes",
        ),
        Definition(
            "segment.ms",
            _LONG,
            "604800000",
            "Age at which a new segment file is started.",
            integer(1, INT64_MAX),
            "log.roll.ms",
            "log_roll_ms",
        ),
        Definition(
            "min.compaction.lag.ms",
            _LONG,
            "0",
            "Least age of a record before compaction may touch it.",
            integer(0, INT64_MAX),
            "log.cleaner.min.compaction.lag.ms",
        ),
        Definition(
            "max.compaction.lag.ms",
            _LONG,
            str(INT64_MAX),
            "Greatest time a record may wait for compaction.",
            integer(1, INT64_MAX),
            "log.cleaner.max.compaction.lag.ms",
        ),
        Definition(
            "min.cleanable.dirty.ratio",
            ConfigType.DOUBLE,
            "0.5",
            "Share of a log that must be new before compaction starts.",
            ratio,
            "log.cleaner.min.cleanable.ratio",
        ),
        Definition(
            "min.insync.replicas",
            _INT,
            "1",
            "Accepted for compatibility; there is one replica and it is always in sync.",
            integer(1, INT32_MAX),
            "min.insync.replicas",
            effective=False,
        ),
        Definition(
            "unclean.leader.election.enable",
            ConfigType.BOOLEAN,
            "false",
            "Accepted for compatibility; there are no elections.",
            boolean,
            "unclean.leader.election.enable",
            effective=False,
        ),
        Definition(
            "index.interval.bytes",
            _INT,
            "4096",
            "Accepted for compatibility; an index entry is made every 4096 bytes.",
            integer(0, INT32_MAX),
            "log.index.interval.bytes",
            effective=False,
        ),
        Definition(
            "segment.index.bytes",
            _INT,
            "10485760",
            "Accepted for compatibility; indexes grow as needed.",
            integer(4, INT32_MAX),
            "log.index.size.max.bytes",
            effective=False,
        ),
        Definition(
            "segment.jitter.ms",
            _LONG,
            "0",
            "Accepted for compatibility; segments of one process need no jitter.",
            integer(0, INT64_MAX),
            effective=False,
        ),
        Definition(
            "file.delete.delay.ms",
            _LONG,
            "60000",
            "Accepted for compatibility; files go with the checkpoint that forgets them.",
            integer(0, INT64_MAX),
            "log.segment.delete.delay.ms",
            effective=False,
        ),
        Definition(
            "flush.messages",
            _LONG,
            str(INT64_MAX),
            "Accepted for compatibility; every answer is durable.",
            integer(1, INT64_MAX),
            "log.flush.interval.messages",
            effective=False,
        ),
        Definition(
            "flush.ms",
            _LONG,
            str(INT64_MAX),
            "Accepted for compatibility; every answer is durable.",
            integer(0, INT64_MAX),
            effective=False,
        ),
        Definition(
            "preallocate",
            ConfigType.BOOLEAN,
            "false",
            "Accepted for compatibility.",
            boolean,
            "log.preallocate",
            effective=False,
        ),
        Definition(
            "leader.replication.throttled.replicas",
            ConfigType.LIST,
            "",
            "Accepted for compatibility; there is no replication.",
            throttled_replicas,
            effective=False,
        ),
        Definition(
            "follower.replication.throttled.replicas",
            ConfigType.LIST,
            "",
            "Accepted for compatibility; there is no replication.",
            throttled_replicas,
            effective=False,
        ),
        Definition(
            "compression.gzip.level",
            _INT,
            "-1",
            "Level used when the broker itself compresses with gzip.",
            integer(-1, 9),
            "compression.gzip.level",
            effective=False,
        ),
        Definition(
            "compression.lz4.level",
            _INT,
            "9",
            "Level used when the broker itself compresses with lz4.",
            integer(1, 17),
            "compression.lz4.level",
            effective=False,
        ),
        Definition(
            "compression.zstd.level",
            _INT,
            "3",
            "Level used when the broker itself compresses with zstd.",
            integer(-131072, 22),
            "compression.zstd.level",
            effective=False,
        ),
        Definition(
            "remote.storage.enable",
            ConfigType.BOOLEAN,
            "false",
            "Accepted for compatibility; there is no tiered storage.",
            only_false,
            effective=False,
        ),
        Definition(
            "remote.log.copy.disable",
            ConfigType.BOOLEAN,
            "false",
            "Accepted for compatibility; there is no tiered storage.",
            boolean,
            effective=False,
        ),
        Definition(
            "remote.log.delete.on.disable",
            ConfigType.BOOLEAN,
            "false",
            "Accepted for compatibility; there is no tiered storage.",
            boolean,
            effective=False,
        ),
        Definition(
            "local.retention.ms",
            _LONG,
            "-2",
            "Accepted for compatibility; there is no tiered storage.",
            integer(-2, INT64_MAX),
            "log.local.retention.ms",
            effective=False,
        ),
        Definition(
            "local.retention.bytes",
            _LONG,
            "-2",
            "Accepted for compatibility; there is no tiered storage.",
            integer(-2, INT64_MAX),
            "log.local.retention.bytes",
            effective=False,
        ),
    )
}


def validated(configs: Mapping[str, str | None]) -> dict[str, str]:
    """The settings in canonical form; InvalidConfig for the first name or value that cannot be."""
    return {name: _canonical(name, value) for name, value in configs.items()}


def _canonical(name: str, value: str | None) -> str:
    if value is None:
        raise InvalidConfig(f"Null value not supported for topic configs: {name}")
    definition = DEFINITIONS.get(name)
    if definition is None:
        raise InvalidConfig(f"Unknown topic config name: {name}")
    try:
        return definition.canonical(value)
    except InvalidConfig as error:
        raise InvalidConfig(f"Invalid value {value} for configuration {name}: {error}") from None


def broker_default(definition: Definition, settings: Settings) -> str:
    """The value a topic has that does not set its own."""
    if definition.synonym_field is None:
        return definition.default
    value: Any = getattr(settings, definition.synonym_field)
    return str(value)


CODECS = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
"""Values of compression.type that make the broker recompress; `producer` does not."""


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
    codec: int | None
    """The codec batches are stored in; None keeps the producer's."""

    @classmethod
    def build(cls, own: Mapping[str, str], settings: Settings) -> TopicConfig:
        """Effective values from a topic's own settings and the broker's."""

        def value(name: str) -> str:
            text = own.get(name)
            return broker_default(DEFINITIONS[name], settings) if text is None else text

        policies = split_list(value("cleanup.policy"))
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
            codec=CODECS.get(value("compression.type")),
        )
