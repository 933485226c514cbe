"""Config entries: settings as DescribeConfigs and CreateTopics show them.

Owns: where a value comes from (its source) and what would count without it (its synonyms).
Never knows: the wire layout of the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from broker.config_values import ConfigType
from broker.settings import Settings
from broker.topic_configs import DEFINITIONS, Definition, broker_default


class ConfigSource(IntEnum):
    """Who set a value (Kafka's numbers)."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5


class Synonym(NamedTuple):
    """One of the values that compete for a setting, strongest first."""

    name: str
    value: str
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One setting with its effective value."""

    name: str
    value: str
    source: ConfigSource
    synonyms: list[Synonym]
    config_type: ConfigType
    documentation: str
    is_read_only: bool = False


def topic_entries(configs: Mapping[str, str], settings: Settings) -> list[ConfigEntry]:
    """All settings of a topic that has these of its own, by name."""
    return [
        _topic_entry(DEFINITIONS[name], configs.get(name), settings) for name in sorted(DEFINITIONS)
    ]


def _topic_entry(definition: Definition, own: str | None, settings: Settings) -> ConfigEntry:
    synonyms = synonyms_of(definition, settings)
    if own is not None:
        synonyms.insert(0, Synonym(definition.name, own, ConfigSource.TOPIC))
    if synonyms:
        value, source = synonyms[0].value, synonyms[0].source
    else:
        value, source = definition.default, ConfigSource.DEFAULT
    return ConfigEntry(
        definition.name, value, source, synonyms, definition.config_type, definition.doc
    )


def synonyms_of(definition: Definition, settings: Settings) -> list[Synonym]:
    """What the broker says about a topic's setting: the value it was started with, the default."""
    if definition.synonym is None:
        return []
    default = Synonym(definition.synonym, definition.default, ConfigSource.DEFAULT)
    value = broker_default(definition, settings)
    if value == definition.default:
        return [default]
    return [Synonym(definition.synonym, value, ConfigSource.STATIC_BROKER), default]
