"""Broker configs: the settings of this broker as DescribeConfigs shows them, under Kafka's names.

Owns: which of Kafka's broker settings are shown with which value.
Never knows: the wire layout of the answer.

Three kinds are shown: our own settings, the broker-wide defaults of topic settings that are fixed
here, and a few facts that tools look for. All are read at the start, so all are read-only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from broker.config_entries import ConfigEntry, ConfigSource, Synonym
from broker.config_values import ConfigType
from broker.settings import INT32_MAX, Description, SettingsError, describe
from broker.topic_configs import DEFINITIONS

if TYPE_CHECKING:
    from broker.broker import Broker

KAFKA_VERSION = "4.1"
"""Tools guess from it what they may ask; this broker behaves like that Kafka."""

HIDDEN_SETTINGS = frozenset({"listen", "advertised", "data.dir"})
"""Shown as Kafka's listeners, advertised.listeners and log.dirs instead."""

_TYPES_BY_SYNONYM = {item.synonym: item.config_type for item in DEFINITIONS.values()}
_TYPES_BY_KIND = {"boolean": ConfigType.BOOLEAN, "integer": ConfigType.INT}


def broker_entries(broker: Broker) -> list[ConfigEntry]:
    """All settings of the broker, by name."""
    entries = {entry.name: entry for entry in _facts(broker)}
    entries |= {entry.name: entry for entry in _fixed_topic_defaults()}
    entries |= {entry.name: entry for entry in _own_settings(broker)}
    return [entries[name] for name in sorted(entries)]


def _own_settings(broker: Broker) -> Iterator[ConfigEntry]:
    for name, field_name, default, description in describe():
        if name not in HIDDEN_SETTINGS:
            value = getattr(broker.settings, field_name)
            config_type = _TYPES_BY_SYNONYM.get(name) or _type_of(description)
            yield _entry(name, _text(value), _text(default), config_type, description.doc)


def _type_of(description: Description) -> ConfigType:
    config_type = _TYPES_BY_KIND.get(description.kind, ConfigType.STRING)
    if config_type is ConfigType.INT:
        try:
            description.parse(str(INT32_MAX + 1))
        except SettingsError:
            return ConfigType.INT
        return ConfigType.LONG
    return config_type


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fixed_topic_defaults() -> Iterator[ConfigEntry]:
    for item in DEFINITIONS.values():
        if item.synonym is not None and item.synonym_field is None:
            yield _entry(item.synonym, item.default, item.default, item.config_type, item.doc)


def _facts(broker: Broker) -> Iterator[ConfigEntry]:
    """What tools look for; all of it follows from other settings or is never different."""
    node_id = str(broker.node_id)
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    address = f"PLAINTEXT://{host}:{broker.port}"
    for name, value, config_type, documentation in (
        ("broker.id", node_id, ConfigType.INT, "The same as node.id."),
        ("process.roles", "broker,controller", ConfigType.LIST, "This process is everything."),
        ("listeners", f"PLAINTEXT://{broker.settings.listen}", ConfigType.LIST, "See `listen`."),
        ("advertised.listeners", address, ConfigType.LIST, "See `advertised`."),
        ("log.dirs", broker.settings.data_dir, ConfigType.LIST, "See `data.dir`."),
    ):
        synonyms = [Synonym(name, value, ConfigSource.STATIC_BROKER)]
        yield ConfigEntry(
            name, value, ConfigSource.STATIC_BROKER, synonyms, config_type, documentation, True
        )
    for name, value, config_type, documentation in (
        (
            "inter.broker.protocol.version",
            KAFKA_VERSION,
            ConfigType.STRING,
            "The Kafka version whose behaviour clients can expect.",
        ),
        (
            "offsets.topic.replication.factor",
            "1",
            ConfigType.SHORT,
            "There is one copy of committed offsets.",
        ),
        (
            "transaction.state.log.replication.factor",
            "1",
            ConfigType.SHORT,
            "There is one copy of the state of transactions.",
        ),
    ):
        yield _entry(name, value, value, config_type, documentation)


def _entry(
    name: str, value: str, default: str, config_type: ConfigType, documentation: str
) -> ConfigEntry:
    synonyms = [Synonym(name, default, ConfigSource.DEFAULT)]
    if value != default:
        synonyms.insert(0, Synonym(name, value, ConfigSource.STATIC_BROKER))
    return ConfigEntry(
        name, value, synonyms[0].source, synonyms, config_type, documentation, is_read_only=True
    )
