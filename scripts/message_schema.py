"""The schemas of Kafka's messages, read from JSON into plain values.

Owns the schema format: version ranges, types, defaults. It must never know what code is made
of them. Schemas come from the kafka-python package and from protocol/schemas; ours win.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OUR_SCHEMAS = Path(__file__).resolve().parent.parent / "protocol" / "schemas"
KINDS_GENERATED = ("request", "response", "data")
NEVER = (1, 0)
FOREVER = 1 << 15

Versions = tuple[int, int]
"""First and last version; NEVER when there is none."""


@dataclass(slots=True)
class Field:
    """One field; `struct` is set when the type, or the element type of an array, is a struct."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: str | None
    struct: Struct | None = None

    def is_present(self, version: int) -> bool:
        return contains(self.versions, version)

    def is_tagged(self, version: int) -> bool:
        return self.is_present(version) and contains(self.tagged, version)

    def is_nullable(self, version: int) -> bool:
        return contains(self.nullable, version)


@dataclass(slots=True)
class Struct:
    """A named list of fields, and the versions in which anything can hold it."""

    name: str
    fields: list[Field]
    versions: Versions = NEVER


@dataclass(slots=True)
class Message:
    """A request, a response, or data that others embed."""

    name: str
    kind: str
    api_key: int | None
    versions: Versions
    flexible: Versions
    root: Struct
    structs: list[Struct] = field(default_factory=list)

    @property
    def api_name(self) -> str:
        return re.sub("(Request|Response)$", "", self.name) if self.kind != "data" else self.name

    @property
    def flexible_from(self) -> int | None:
        return None if self.flexible == NEVER else self.flexible[0]

    def is_flexible(self, version: int) -> bool:
        return contains(self.flexible, version)


def contains(versions: Versions, version: int) -> bool:
    return versions[0] <= version <= versions[1]


def parse_versions(text: str | None) -> Versions:
    """Read "3-7", "3+", "3" or "none"."""
    if text is None or text == "none":
        return NEVER
    if text.endswith("+"):
        return int(text[:-1]), FOREVER
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def snake_case(name: str) -> str:
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def load_messages() -> list[Message]:
    """Every message there is a schema for, in the order of their names."""
    documents: dict[str, dict[str, Any]] = {}
    for directory in (_kafka_python_schemas(), OUR_SCHEMAS):
        for path in sorted(directory.glob("*.json")):
            document = _read(path)
            documents[document["name"]] = document
    chosen = (documents[name] for name in sorted(documents))
    return [_message(document) for document in chosen if document["type"] in KINDS_GENERATED]


def _kafka_python_schemas() -> Path:
    spec = importlib.util.find_spec("kafka")
    if spec is None or spec.origin is None:
        raise SystemExit("kafka-python is not installed: pip install 'kafka-python>=3.0.12'")
    return Path(spec.origin).parent / "protocol" / "schemas" / "resources"


def _read(path: Path) -> dict[str, Any]:
    lines = path.read_text("utf-8").splitlines()
    document: dict[str, Any] = json.loads(
        "\n".join(line for line in lines if not line.lstrip().startswith("//"))
    )
    return document


def _message(document: dict[str, Any]) -> Message:
    common = {struct["name"]: struct["fields"] for struct in document.get("commonStructs", [])}
    structs: dict[str, Struct] = {}
    root = Struct(document["name"], _fields(document["fields"], common, structs))
    message = Message(
        name=document["name"],
        kind=document["type"],
        api_key=document.get("apiKey"),
        versions=parse_versions(document["validVersions"]),
        flexible=parse_versions(document["flexibleVersions"]),
        root=root,
        structs=list(structs.values()),
    )
    _reach(root, message.versions)
    message.structs = [struct for struct in message.structs if struct.versions != NEVER]
    for struct in (root, *message.structs):
        reached = struct.versions
        struct.fields = [it for it in struct.fields if _overlap(it.versions, reached) != NEVER]
    return message


def _fields(
    documents: list[dict[str, Any]], common: dict[str, Any], structs: dict[str, Struct]
) -> list[Field]:
    return [_field(document, common, structs) for document in documents]


def _field(document: dict[str, Any], common: dict[str, Any], structs: dict[str, Struct]) -> Field:
    type_name: str = document["type"].removeprefix("[]")
    result = Field(
        name=snake_case(document["name"]),
        type=type_name,
        is_array=document["type"].startswith("[]"),
        versions=parse_versions(document["versions"]),
        nullable=parse_versions(document.get("nullableVersions")),
        tagged=parse_versions(document.get("taggedVersions")),
        tag=document.get("tag"),
        default=None if document.get("default") is None else str(document["default"]),
    )
    if type_name[0].isupper():
        if type_name not in structs:
            structs[type_name] = Struct(type_name, [])
            inner = document.get("fields") or common[type_name]
            structs[type_name].fields = _fields(inner, common, structs)
        result.struct = structs[type_name]
    return result


def _reach(struct: Struct, versions: Versions) -> None:
    """Note that `struct` occurs in `versions`, and so do the structs in it."""
    if struct.versions != NEVER:
        versions = min(struct.versions[0], versions[0]), max(struct.versions[1], versions[1])
    struct.versions = versions
    for item in struct.fields:
        inner = _overlap(item.versions, versions)
        if item.struct is not None and inner != NEVER:
            _reach(item.struct, inner)


def _overlap(one: Versions, other: Versions) -> Versions:
    first, last = max(one[0], other[0]), min(one[1], other[1])
    return (first, last) if first <= last else NEVER


def all_versions(versions: Versions) -> Iterator[int]:
    return iter(range(versions[0], versions[1] + 1))
