"""Requests taken apart: the bytes of a small request, and where its counts and lengths lie.

Owns one walk over the JSON schemas inside kafka-python, so that a test can lie in any one field of
any request. Must never know oncelog's own messages, nor a connection.
"""

import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

FIXED_BYTES: Final = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
TEXT: Final = b"t"
PRESENT: Final = b"\x01"
"""Stands before a structure that might be null and is not."""

ALL_TIME: Final = 1 << 15

# Zero is a good value for almost every number; here it would mean "do not answer".
NUMBERS: Final[Mapping[tuple[str, str], bytes]] = {("ProduceRequest", "Acks"): b"\xff\xff"}


@dataclass(frozen=True)
class Mark:
    """A count or length inside the payload: where it is and how it is written."""

    path: str
    at: int
    size: int
    kind: str
    """`count` of an array, `length` of a text or bytes, `tags` for the number of tagged fields."""

    @property
    def is_varint(self) -> bool:
        return self.size == 1


@dataclass
class Sample:
    """One request payload (header and body, without the frame's size) and its marks."""

    name: str
    version: int
    payload: bytearray = field(default_factory=bytearray)
    marks: list[Mark] = field(default_factory=list)
    body_at: int = 0

    def lying(self, mark: Mark, number: int) -> bytes:
        """The payload with another number at a mark; everything else stays."""
        if mark.is_varint:
            written = unsigned_varint(number % (1 << 32))
        else:
            written = struct.pack(">i" if mark.size == 4 else ">h", number)
        return bytes(self.payload[: mark.at] + written + self.payload[mark.at + mark.size :])


def unsigned_varint(number: int) -> bytes:
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


@cache
def request_schemas() -> Mapping[int, Any]:
    """Every request schema by its API key."""
    folder = resources.files("kafka.protocol.schemas") / "resources"
    found = {}
    for entry in folder.iterdir():
        if entry.name.endswith("Request.json"):
            text = re.sub(r"^\s*//.*$", "", entry.read_text("utf-8"), flags=re.MULTILINE)
            schema = json.loads(text)
            found[int(schema["apiKey"])] = schema
    return found


def sample_request(api_key: int, version: int, *, correlation_id: int = 7) -> Sample:
    """A small valid request: one element in each array, one byte in each text, zero numbers."""
    return _Walk(request_schemas()[api_key], version).request(api_key, correlation_id)


def _range(text: str | None) -> tuple[int, int]:
    if text is None or text == "none":
        return (1, 0)
    low, dash, high = text.partition("-")
    if low.endswith("+"):
        return (int(low[:-1]), ALL_TIME)
    return (int(low), int(high) if dash else int(low))


def _within(version: int, text: str | None) -> bool:
    low, high = _range(text)
    return low <= version <= high


class _Walk:
    """One walk over one schema at one version."""

    def __init__(self, schema: Any, version: int) -> None:
        self._schema = schema
        self._version = version
        self._flexible = _within(version, schema.get("flexibleVersions"))
        self._structs = {one["name"]: one["fields"] for one in schema.get("commonStructs", [])}
        self._sample = Sample(schema["name"], version)

    def request(self, api_key: int, correlation_id: int) -> Sample:
        sample = self._sample
        sample.payload += struct.pack(">hhi", api_key, self._version, correlation_id)
        self._mark("header.ClientId", "length", 2)
        sample.payload += struct.pack(">h", len(TEXT)) + TEXT
        if self._flexible:
            self._mark("header", "tags", 1)
            sample.payload += b"\x00"
        sample.body_at = len(sample.payload)
        self._fields(sample.name, self._schema["fields"])
        return sample

    def _mark(self, path: str, kind: str, size: int) -> None:
        self._sample.marks.append(Mark(path, len(self._sample.payload), size, kind))

    def _fields(self, path: str, fields: list[Any]) -> None:
        present = [one for one in fields if _within(self._version, one["versions"])]
        tagged = [one for one in present if _within(self._version, one.get("taggedVersions"))]
        for one in present:
            if one not in tagged:
                self._field(f"{path}.{one['name']}", one)
        if self._flexible:
            self._tagged(path, tagged)

    def _tagged(self, path: str, fields: list[Any]) -> None:
        payload = self._sample.payload
        self._mark(path, "tags", 1)
        payload += unsigned_varint(len(fields))
        for one in sorted(fields, key=lambda item: int(item["tag"])):
            payload += unsigned_varint(int(one["tag"]))
            size_at = len(payload)
            self._mark(f"{path}.{one['name']}", "length", 1)
            payload.append(0)
            self._field(f"{path}.{one['name']}", one)
            payload[size_at] = len(payload) - size_at - 1
            if payload[size_at] >= 0x80:
                raise AssertionError("a tagged field too large for a length of one byte")

    def _field(self, path: str, one: Any) -> None:
        kind: str = one["type"]
        if kind.startswith("[]"):
            self._count(path)
            self._value(path, one, kind[2:])
        else:
            self._value(path, one, kind)

    def _count(self, path: str) -> None:
        self._mark(path, "count", 1 if self._flexible else 4)
        self._sample.payload += b"\x02" if self._flexible else struct.pack(">i", 1)

    def _value(self, path: str, one: Any, kind: str) -> None:
        payload = self._sample.payload
        if kind in FIXED_BYTES:
            zero = bytes(FIXED_BYTES[kind])
            payload += NUMBERS.get((self._sample.name, one["name"]), zero)
        elif kind in ("string", "bytes", "records"):
            size = 1 if self._flexible else 2 if kind == "string" else 4
            self._mark(path, "length", size)
            payload += b"\x02" if self._flexible else len(TEXT).to_bytes(size, "big")
            payload += TEXT
        else:
            is_element = one["type"].startswith("[]")
            if not is_element and _within(self._version, one.get("nullableVersions")):
                payload += PRESENT
            self._fields(path, one.get("fields") or self._structs[kind])


def samples(api_key: int, versions: range) -> Iterator[Sample]:
    """One sample for each version that kafka-python's schemas know."""
    low, high = _range(request_schemas()[api_key]["validVersions"])
    for version in versions:
        if low <= version <= high:
            yield sample_request(api_key, version)
