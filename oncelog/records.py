"""Records as text: the lines that `produce` reads and `consume` writes.

Owns both directions, so that what one writes the other reads. Pure: no connections, no files.

In JSON a key, value or header is null, a text, or {"base64": "..."} when its bytes are not UTF-8.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Headers = tuple[tuple[str, bytes | None], ...]


class RecordFormatError(ValueError):
    """A line does not hold a record; the message says why."""


@dataclass(frozen=True, slots=True)
class InputRecord:
    """A record to be produced. No partition means that the key, or chance, chooses one."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as it was read back."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How plain lines are read and written."""

    key_separator: bytes | None = None
    null: bytes | None = None

    def parse(self, line: bytes) -> InputRecord:
        """One line without its newline; a line without the separator is a value without a key."""
        key: bytes | None = None
        value = line
        if self.key_separator:
            before, separator, after = line.partition(self.key_separator)
            if separator:
                key, value = before, after
        return InputRecord(self._bytes_or_null(key), self._bytes_or_null(value))

    def _bytes_or_null(self, text: bytes | None) -> bytes | None:
        return None if self.null is not None and text == self.null else text


@dataclass(frozen=True, slots=True)
class Columns:
    """What `consume` shows in front of a value, and between what."""

    offsets: bool = False
    timestamps: bool = False
    headers: bool = False
    keys: bool = False
    separator: bytes = b"\t"
    null: bytes = b"NULL"

    def render(self, record: StoredRecord) -> bytes:
        parts: list[bytes] = []
        if self.offsets:
            parts.append(f"{record.partition}:{record.offset}".encode())
        if self.timestamps:
            parts.append(render_time(record.timestamp_ms).encode())
        if self.headers:
            parts.append(self._render_headers(record.headers))
        if self.keys:
            parts.append(self.null if record.key is None else record.key)
        parts.append(self.null if record.value is None else record.value)
        return self.separator.join(parts)

    def _render_headers(self, headers: Headers) -> bytes:
        pairs = ((name, self.null if value is None else value) for name, value in headers)
        return b",".join(name.encode() + b"=" + value for name, value in pairs)


def parse_json_record(line: bytes) -> InputRecord:
    """A record from a line of `oncelog consume --json`; unknown names are passed over."""
    try:
        document = json.loads(line)
    except ValueError as error:
        raise RecordFormatError(f"not JSON ({error})") from None
    if not isinstance(document, dict):
        raise RecordFormatError("not a JSON object")
    return InputRecord(
        key=bytes_from_json(document.get("key")),
        value=bytes_from_json(document.get("value")),
        headers=_headers_from_json(document.get("headers") or []),
        partition=_optional_integer(document, "partition"),
        timestamp_ms=_optional_integer(document, "timestamp_ms"),
    )


def record_as_json(record: StoredRecord) -> dict[str, Any]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": bytes_to_json(record.key),
        "value": bytes_to_json(record.value),
        "headers": [[name, bytes_to_json(value)] for name, value in record.headers],
    }


def bytes_to_json(value: bytes | None) -> str | dict[str, str] | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def bytes_from_json(value: object) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return _utf8(value)
    if isinstance(value, dict) and isinstance(value.get("base64"), str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (binascii.Error, ValueError):
            raise RecordFormatError("not valid base64") from None
    raise RecordFormatError('keys and values must be null, a text or {"base64": "..."}')


def render_time(timestamp_ms: int | None) -> str:
    """Milliseconds as UTC, in the form --from takes; a dash when there is none."""
    if timestamp_ms is None:
        return "-"
    try:
        moment = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"@{timestamp_ms}"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise RecordFormatError("a text holds half a surrogate pair") from None


def _headers_from_json(headers: object) -> Headers:
    if not isinstance(headers, list):
        raise RecordFormatError("headers must be a list of [name, value] pairs")
    result: list[tuple[str, bytes | None]] = []
    for pair in headers:
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)):
            raise RecordFormatError("headers must be a list of [name, value] pairs")
        _utf8(pair[0])
        result.append((pair[0], bytes_from_json(pair[1])))
    return tuple(result)


def _optional_integer(document: dict[str, Any], name: str) -> int | None:
    value = document.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise RecordFormatError(f"{name} must be a whole number")
