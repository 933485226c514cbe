"""Topic configs: the table holds together, and a topic's own value wins."""

import pytest

from broker.config_entries import topic_entries
from broker.config_values import InvalidConfig
from broker.settings import Settings, describe
from broker.topic_configs import DEFINITIONS, TopicConfig, broker_default, validated


def test_every_default_is_a_value_in_canonical_form() -> None:
    for definition in DEFINITIONS.values():
        assert definition.canonical(definition.default) == definition.default


def test_the_brokers_settings_have_the_defaults_of_their_topic_settings() -> None:
    settings = Settings()
    for definition in DEFINITIONS.values():
        assert broker_default(definition, settings) == definition.default


def test_a_synonym_is_the_name_of_its_setting() -> None:
    names = {field_name: name for name, field_name, _, _ in describe()}
    for definition in DEFINITIONS.values():
        if definition.synonym_field is not None:
            assert names[definition.synonym_field] == definition.synonym


def test_the_topics_own_value_wins_over_the_brokers() -> None:
    settings = Settings(log_retention_ms=5, log_cleanup_policy="compact", log_segment_bytes=2048)
    config = TopicConfig.build({"retention.ms": "7", "cleanup.policy": "delete"}, settings)
    assert (config.retention_ms, config.segment_bytes) == (7, 2048)
    assert (config.is_compacted, config.is_deleted) == (False, True)


@pytest.mark.parametrize(
    ("policy", "compacted", "deleted"),
    [
        ("delete", False, True),
        ("compact", True, False),
        ("delete,compact", True, True),
        ("", False, False),
    ],
)
def test_the_cleanup_policy_is_a_set(policy: str, compacted: bool, deleted: bool) -> None:
    config = TopicConfig.build({"cleanup.policy": policy}, Settings())
    assert (config.is_compacted, config.is_deleted) == (compacted, deleted)


def test_settings_are_validated_into_canonical_form() -> None:
    given = {"retention.ms": " +7", "cleanup.policy": "compact, delete"}
    assert validated(given) == {"retention.ms": "7", "cleanup.policy": "compact,delete"}


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("no.such.setting", "1", "Unknown topic config name: no.such.setting"),
        ("no.such.setting", None, "Null value not supported for topic configs: no.such.setting"),
        ("retention.ms", None, "Null value not supported for topic configs: retention.ms"),
        ("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: must lie"),
    ],
)
def test_the_complaint_names_the_setting(name: str, value: str | None, complaint: str) -> None:
    with pytest.raises(InvalidConfig, match=complaint):
        validated({name: value})


def test_every_entry_shows_the_value_that_counts() -> None:
    settings = Settings(log_retention_ms=5)
    entries = {entry.name: entry for entry in topic_entries({"segment.ms": "7"}, settings)}
    assert list(entries) == sorted(DEFINITIONS)
    for entry in entries.values():
        if entry.synonyms:
            assert (entry.value, entry.source) == entry.synonyms[0][1:]
    assert entries["segment.ms"].value == "7"
    assert entries["retention.ms"].value == "5"
