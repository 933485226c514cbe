"""Settings: names, sources and their order, refusals, documentation."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.settings import (
    INT64_MAX,
    Settings,
    SettingsError,
    describe,
    environment_name,
    load_settings,
    parse_assignments,
    split_address,
)

REPOSITORY = Path(__file__).resolve().parents[2]
ALL = list(describe())
NAMES = [name for name, _, _, _ in ALL]
INTEGERS = [name for name, _, default, _ in ALL if type(default) is int]


def load(
    flags: dict[str, str] | None = None,
    environment: dict[str, str] | None = None,
    toml_text: str | None = None,
) -> Settings:
    return load_settings(flags or {}, environment or {}, toml_text, "settings.toml")


def refusal(**sources: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        load(**sources)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_without_any_source_every_setting_has_its_default() -> None:
    assert load() == Settings()


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().num_partitions = 5  # type: ignore[misc]
    assert not hasattr(Settings(), "__dict__")


@pytest.mark.parametrize("name", NAMES)
def test_every_default_is_a_value_that_would_be_accepted(name: str) -> None:
    default = next(default for known, _, default, _ in ALL if known == name)
    text = str(default).lower() if isinstance(default, bool) else str(default)
    settings = load(flags={name: text})
    assert getattr(settings, name.replace(".", "_")) == default


def test_flags_win_over_environment_over_file_over_default() -> None:
    flags = {"num.partitions": "2"}
    environment = {"ONCELOG_NUM_PARTITIONS": "3", "ONCELOG_NODE_ID": "33"}
    toml_text = "num.partitions = 4\nnode.id = 44\nlog.retention.ms = 444"
    settings = load(flags, environment, toml_text)
    assert settings.num_partitions == 2
    assert settings.node_id == 33
    assert settings.log_retention_ms == 444
    assert settings.message_max_bytes == 1_048_588


def test_a_bad_value_is_refused_even_where_a_stronger_source_hides_it() -> None:
    message = refusal(flags={"node.id": "7"}, environment={"ONCELOG_NODE_ID": "seven"})
    assert message == (
        "setting node.id (from environment ONCELOG_NODE_ID): 'seven' is not a whole number; "
        "give one from 0 to 2147483647"
    )


@pytest.mark.parametrize(
    "toml_text",
    ["num.partitions = 9", '"num.partitions" = 9', "[num]\npartitions = 9", 'num.partitions = "9"'],
)
def test_toml_names_may_be_dotted_quoted_or_nested(toml_text: str) -> None:
    assert load(toml_text=toml_text).num_partitions == 9


def test_toml_booleans_are_read() -> None:
    assert load(toml_text="in.memory = true").in_memory is True
    assert load(toml_text="delete.topic.enable = false").delete_topic_enable is False


@pytest.mark.parametrize(
    ("sources", "part"),
    [
        (
            {"flags": {"num.partitons": "1"}},
            "unknown setting num.partitons (from the command line)",
        ),
        ({"flags": {"num.partitons": "1"}}, "did you mean num.partitions?"),
        ({"environment": {"ONCELOG_NUM_PARTITONS": "1"}}, "did you mean num.partitions?"),
        ({"toml_text": "zzz = 1"}, "unknown setting zzz (from settings.toml)"),
        ({"toml_text": "zzz"}, "settings.toml is not valid TOML"),
        ({"toml_text": "num.partitions = 1.5"}, "give a text, number or boolean"),
        ({"toml_text": "num.partitions = [1]"}, "give a text, number or boolean"),
        ({"toml_text": "num.partitions = true"}, "not a whole number"),
        ({"flags": {"num.partitions": "0"}}, "out of range; give a whole number from 1 to 10000"),
        ({"flags": {"in.memory": "maybe"}}, "neither true nor false"),
        ({"flags": {"durability": "FSYNC"}}, "give one of fsync | os"),
        ({"flags": {"listen": "localhost"}}, "give HOST:PORT"),
        ({"flags": {"listen": ""}}, "give HOST:PORT"),
        ({"flags": {"listen": "localhost:70000"}}, "from 0 to 65535"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(sources: dict[str, Any], part: str) -> None:
    assert part in refusal(**sources)


def test_variables_of_the_command_line_and_of_others_are_left_alone() -> None:
    environment = {"ONCELOG_BOOTSTRAP": "x:1", "ONCELOG_TEST_BOOTSTRAP": "x:1", "HOME": "/"}
    assert load(environment=environment) == Settings()


@given(name=st.sampled_from(INTEGERS), value=st.integers(-10, INT64_MAX + 10))
def test_an_integer_is_taken_exactly_when_it_is_in_its_range(name: str, value: int) -> None:
    allowed = next(spec.allowed for known, _, _, spec in ALL if known == name)
    least, most = (int(part) for part in allowed.split(" to "))
    if least <= value <= most:
        assert getattr(load(flags={name: str(value)}), name.replace(".", "_")) == value
    else:
        assert "out of range" in refusal(flags={name: str(value)})


@given(name=st.sampled_from(NAMES), text=st.text(max_size=20))
def test_any_text_is_either_taken_or_refused_with_one_line(name: str, text: str) -> None:
    try:
        load(flags={name: text})
    except SettingsError:
        assert f"setting {name} " in refusal(flags={name: text})


def test_assignments_are_split_at_the_first_equals_sign() -> None:
    assert parse_assignments(("a.b=c=d", " x = y ", "x=z")) == {"a.b": "c=d", "x": "z"}


@pytest.mark.parametrize("text", ["", "=", "=v", "novalue"])
def test_an_assignment_without_name_or_sign_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="give NAME=VALUE"):
        parse_assignments((text,))


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("127.0.0.1:9092", ("127.0.0.1", 9092)),
        ("broker.example:0", ("broker.example", 0)),
        ("[::1]:9092", ("::1", 9092)),
    ],
)
def test_an_address_is_split_into_host_and_port(text: str, pair: tuple[str, int]) -> None:
    assert split_address(text) == pair


@pytest.mark.parametrize(
    "text", ["", ":1", "host", "host:", "host:x", "::1:9092", "host:-1", "host:\u0661"]
)
def test_an_address_without_host_or_port_is_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        split_address(text)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_has_a_sentence_of_documentation(name: str) -> None:
    doc = next(spec.doc for known, _, _, spec in ALL if known == name)
    assert re.fullmatch(r"\S.*[^.]\.", doc), (
        f"{name}: one or more sentences that end in a full stop"
    )
    assert len(doc) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_on_the_settings_page(name: str) -> None:
    page = (REPOSITORY / "docs" / "SETTINGS.md").read_text("utf-8")
    assert f"| `{name}` |" in page
    assert f"`{environment_name(name)}`" in page
