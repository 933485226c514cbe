"""Every setting of the broker, and how its value is found.

Owns the names, types, defaults, ranges and meanings of the settings, and the order of their
sources: flags, then `ONCELOG_...` environment variables, then the TOML file, then the default. A
name nobody knows or a value out of range is refused with one line. docs/SETTINGS.md is generated
from this file.

Never knows files, sockets or the process environment: the caller hands in what it has read.

To add a setting, add one field to `Settings`. Its name is the dotted name with underscores, its
type and range come from the helper that makes it (`_integer(default, least, most, doc)`,
`_boolean`, `_choice`, `_text`, `_address`), and the last argument is the documentation's sentence.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

ENVIRONMENT_PREFIX: Final = "ONCELOG_"
# Variables with our prefix that belong to the command line or the tests, not to the broker.
ENVIRONMENT_OF_OTHERS: Final = ("ONCELOG_BOOTSTRAP", "ONCELOG_TEST_")

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
PORT_MAX: Final = 65_535

_DAY_MS: Final = 24 * 60 * 60 * 1000
_MIB: Final = 1024 * 1024

_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})


class SettingsError(ValueError):
    """A setting is unknown or its value is not allowed. The message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Description:
    """What the documentation and the parser know about one setting."""

    kind: str
    allowed: str
    doc: str
    parse: Callable[[str], Any]


def _setting(default: Any, kind: str, allowed: str, doc: str, parse: Callable[[str], Any]) -> Any:
    return field(default=default, metadata={"description": Description(kind, allowed, doc, parse)})


def _text(default: str, doc: str) -> Any:
    def parse(text: str) -> str:
        if not text.strip():
            raise SettingsError("empty; give a text or leave the setting out")
        return text

    return _setting(default, "text", "any text but an empty one", doc, parse)


def _integer(default: int, least: int, most: int, doc: str) -> Any:
    allowed = f"{least} to {most}"

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise SettingsError(f"not a whole number; give one from {allowed}") from None
        if not least <= value <= most:
            raise SettingsError(f"out of range; give a whole number from {allowed}")
        return value

    return _setting(default, "integer", allowed, doc, parse)


def _boolean(default: bool, doc: str) -> Any:
    def parse(text: str) -> bool:
        word = text.strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise SettingsError("neither true nor false; give one of them")

    return _setting(default, "boolean", "true, false", doc, parse)


def _choice(default: str, choices: tuple[str, ...], doc: str) -> Any:
    allowed = " | ".join(choices)

    def parse(text: str) -> str:
        if text not in choices:
            raise SettingsError(f"not a known choice; give one of {allowed}")
        return text

    return _setting(default, "choice", allowed, doc, parse)


def _address(default: str, doc: str) -> Any:
    def parse(text: str) -> str:
        if text:
            split_address(text)
        elif default:
            raise SettingsError("empty; give HOST:PORT, for example 127.0.0.1:9092")
        return text

    return _setting(default, "address", "HOST:PORT", doc, parse)


def split_address(text: str) -> tuple[str, int]:
    """HOST:PORT as a pair; an IPv6 host stands in brackets, as in [::1]:9092."""
    host, colon, port_text = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or (":" in host and not bracketed):
        raise SettingsError("not an address; give HOST:PORT, for example 127.0.0.1:9092")
    if not (port_text.isascii() and port_text.isdigit() and int(port_text) <= PORT_MAX):
        raise SettingsError(f"not an address: its port must be a number from 0 to {PORT_MAX}")
    return (host[1:-1] if bracketed else host), int(port_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One value for each setting; see docs/SETTINGS.md."""

    # Where it listens and keeps its data
    listen: str = _address(
        "127.0.0.1:9092", "Address the broker listens on; port 0 picks a free port."
    )
    advertised: str = _address(
        "", "Address clients are told to connect to; empty means the address that is listened on."
    )
    data_dir: str = _text(
        "./oncelog-data",
        "Directory that holds everything the broker keeps; one process at a time uses it.",
    )
    in_memory: bool = _boolean(
        False, "Keep everything in memory and nothing on disk; all is gone when the broker ends."
    )
    durability: str = _choice(
        "fsync",
        ("fsync", "os"),
        "fsync: an acknowledged record survives power loss. os: it survives a crash of the "
        "broker, not of the machine.",
    )
    node_id: int = _integer(
        1, 0, INT32_MAX, "Number under which the broker shows itself to clients."
    )
    log_level: str = _choice(
        "info",
        ("debug", "info", "warning", "error"),
        "Least important kind of message that is logged.",
    )

    # Topics
    num_partitions: int = _integer(
        4, 1, 10_000, "Partitions of a topic that is created without a number of partitions."
    )
    default_replication_factor: int = _integer(
        1,
        1,
        32_767,
        "Replication factor reported for new topics; there is one replica, larger numbers are "
        "accepted and count as 1.",
    )
    auto_create_topics_enable: bool = _boolean(
        True, "Create a topic when a client that allows it asks for an unknown one."
    )
    delete_topic_enable: bool = _boolean(True, "Let clients delete topics.")
    message_max_bytes: int = _integer(
        1_048_588, 1, INT32_MAX, "Largest record batch the broker takes, as sent (compressed)."
    )
    compression_type: str = _choice(
        "producer",
        ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
        "Codec of stored batches; producer keeps what was sent.",
    )
    log_message_timestamp_type: str = _choice(
        "CreateTime",
        ("CreateTime", "LogAppendTime"),
        "Whose clock stamps the records: the producer's or the broker's.",
    )
    log_message_timestamp_before_max_ms: int = _integer(
        INT64_MAX,
        0,
        INT64_MAX,
        "How far a record's timestamp may lie in the past before the record is refused.",
    )
    log_message_timestamp_after_max_ms: int = _integer(
        3_600_000,
        0,
        INT64_MAX,
        "How far a record's timestamp may lie in the future before the record is refused.",
    )

    # Segments and retention
    log_segment_bytes: int = _integer(
        1_073_741_824, 1024, INT32_MAX, "Size at which a partition starts a new segment file."
    )
    log_roll_ms: int = _integer(
        7 * _DAY_MS, 1, INT64_MAX, "Age at which a partition starts a new segment file."
    )
    log_retention_ms: int = _integer(
        7 * _DAY_MS, -1, INT64_MAX, "Age at which records may be deleted; -1 keeps them for ever."
    )
    log_retention_bytes: int = _integer(
        -1, -1, INT64_MAX, "Size a partition is cut down to; -1 is without limit."
    )
    log_retention_check_interval_ms: int = _integer(
        300_000, 1, INT64_MAX, "Time between two looks for segments that may be deleted."
    )
    log_cleanup_policy: str = _choice(
        "delete",
        ("delete", "compact", "compact,delete"),
        "What happens to old records of a topic that does not say it itself.",
    )

    # Connections and requests
    max_connections: int = _integer(
        10_000, 1, INT32_MAX, "Connections open at one time; further ones are closed at once."
    )
    connections_max_idle_ms: int = _integer(
        600_000, 1, INT64_MAX, "Time without a request after which a connection is closed."
    )
    socket_request_max_bytes: int = _integer(
        104_857_600, 1024, INT32_MAX, "Largest request; a larger one closes the connection."
    )
    queued_max_request_bytes: int = _integer(
        268_435_456,
        _MIB,
        INT64_MAX,
        "Bytes of requests that have not fully arrived, over all connections; above it reading "
        "pauses.",
    )
    fetch_max_bytes: int = _integer(
        57_671_680, 1024, INT32_MAX, "Most bytes of records in one answer to a Fetch."
    )

    # Producers
    producer_id_expiration_ms: int = _integer(
        _DAY_MS,
        1,
        INT64_MAX,
        "Time without writes after which a partition forgets an idempotent producer.",
    )
    producer_id_expiration_check_interval_ms: int = _integer(
        600_000, 1, INT64_MAX, "Time between two looks for producers to forget."
    )
    produce_validate_records: bool = _boolean(
        False,
        "Look at every record of every batch before it is stored, as Apache Kafka does; costs "
        "processor time. Off: a batch is judged by its header and its checksum.",
    )

    # Journal and disk
    journal_file_bytes: int = _integer(
        64 * _MIB,
        64 * 1024,
        INT32_MAX,
        "Size of one journal file; files are written again once a checkpoint covers them.",
    )
    checkpoint_interval_bytes: int = _integer(
        128 * _MIB,
        64 * 1024,
        INT64_MAX,
        "Journal bytes after which a checkpoint is taken; a restart replays at most about this "
        "much.",
    )
    checkpoint_interval_ms: int = _integer(
        60_000, 100, INT64_MAX, "Time after which a checkpoint is taken when anything has changed."
    )
    disk_reserve_bytes: int = _integer(
        128 * _MIB,
        0,
        INT64_MAX,
        "Free disk space below which writes are refused (clients retry); reads go on.",
    )


def describe() -> Iterator[tuple[str, str, Any, Description]]:
    """Every setting in order: dotted name, field name, default, description."""
    for item in fields(Settings):
        yield dotted_name(item.name), item.name, item.default, item.metadata["description"]


def dotted_name(field_name: str) -> str:
    return field_name.replace("_", ".")


def environment_name(name: str) -> str:
    return ENVIRONMENT_PREFIX + name.replace(".", "_").upper()


def load_settings(
    flags: Mapping[str, str],
    environment: Mapping[str, str],
    toml_text: str | None = None,
    toml_name: str = "the settings file",
) -> Settings:
    """The settings that follow from all sources; the names in `flags` are dotted."""
    known = {name: (field_name, spec) for name, field_name, _, spec in describe()}
    values: dict[str, Any] = {}
    for name, text, source in _all_sources(flags, environment, toml_text, toml_name):
        if name not in known:
            raise SettingsError(_unknown(name, source, known))
        field_name, spec = known[name]
        try:
            value = spec.parse(text)
        except SettingsError as error:
            raise SettingsError(f"setting {name} (from {source}): {text!r} is {error}") from None
        values.setdefault(field_name, value)
    return Settings(**values)


def parse_assignments(assignments: tuple[str, ...]) -> dict[str, str]:
    """The NAME=VALUE texts of --set as a dictionary; the last one of a name counts."""
    result: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise SettingsError(
                f"--set {assignment}: give NAME=VALUE, for example num.partitions=8"
            )
        result[name.strip()] = value.strip()
    return result


def _all_sources(
    flags: Mapping[str, str], environment: Mapping[str, str], toml_text: str | None, toml_name: str
) -> Iterator[tuple[str, str, str]]:
    """Name, text and source of every given value, strongest source first."""
    for name, text in flags.items():
        yield name, text, "the command line"
    names_by_variable = {environment_name(name): name for name, _, _, _ in describe()}
    for variable, text in environment.items():
        ours = variable.startswith(ENVIRONMENT_PREFIX)
        if ours and not variable.startswith(ENVIRONMENT_OF_OTHERS):
            yield names_by_variable.get(variable, variable), text, f"environment {variable}"
    if toml_text is not None:
        for name, text in _flatten(_parse_toml(toml_text, toml_name), "", toml_name):
            yield name, text, toml_name


def _parse_toml(text: str, name: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{name} is not valid TOML: {error}") from None


def _flatten(table: Mapping[str, Any], prefix: str, source: str) -> Iterator[tuple[str, str]]:
    """num.partitions = 4 is a table within a table in TOML; the names come out dotted again."""
    for key, value in table.items():
        name = prefix + key
        if isinstance(value, dict):
            yield from _flatten(value, name + ".", source)
        elif isinstance(value, bool):
            yield name, "true" if value else "false"
        elif isinstance(value, int | str):
            yield name, str(value)
        else:
            raise SettingsError(f"setting {name} (from {source}): give a text, number or boolean")


def _unknown(name: str, source: str, known: Mapping[str, object]) -> str:
    import difflib

    wanted = name
    if name.startswith(ENVIRONMENT_PREFIX):
        wanted = name.removeprefix(ENVIRONMENT_PREFIX).lower().replace("_", ".")
    close = difflib.get_close_matches(wanted, known, n=1)
    hint = f"did you mean {close[0]}?" if close else "docs/SETTINGS.md lists all of them"
    return f"unknown setting {name} (from {source}); {hint}"
