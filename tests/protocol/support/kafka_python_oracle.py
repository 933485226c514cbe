"""kafka-python's encoder as a judge of ours.

Owns the way from our messages to theirs. It must never use our encoder.
"""

import uuid
from functools import cache
from typing import Any

from scripts.message_schema import Field, Message, Struct
from tests.wire.support.kafka_python import load

BITS = "authorized_operations"
"""Their one name for three fields, which they hold as sets of bits."""

_MODULES = ("admin", "consumer", "metadata", "producer", "sasl", "api_message")


@cache
def _classes() -> dict[str, Any]:
    base: Any = load("kafka.protocol.api_message").ApiMessage
    found: dict[str, Any] = {}
    for module in _MODULES:
        load(f"kafka.protocol.{module}")
    pending = [base]
    while pending:
        for message in pending.pop().__subclasses__():
            found[message.__name__] = message
            pending.append(message)
    return found


def knows(schema: Message) -> bool:
    return schema.name in _classes()


def encode(schema: Message, message: Any, version: int) -> bytes:
    theirs = _classes()[schema.name]
    value = theirs(version=version, **_values(theirs._struct, schema.root, message, version))
    return bytes(value.encode(version=version))


def _values(theirs: Any, struct: Struct, part: Any, version: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    untouched = type(part)()
    for field in struct.fields:
        value = getattr(part, field.name)
        is_default = value == getattr(untouched, field.name)
        if field.is_present(version) and not (field.is_tagged(version) and is_default):
            name = field.name if field.name in theirs.fields else BITS
            values[name] = _convert(theirs.fields[name], field, value, version)
    return values


def _convert(theirs: Any, field: Field, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.is_array:
        return [_single(theirs, field, element, version) for element in value]
    return _single(theirs, field, value, version)


def _single(theirs: Any, field: Field, value: Any, version: int) -> Any:
    if field.struct is not None:
        values = _values(theirs, field.struct, value, version)
        return theirs.data_class(version=version, **values)
    if getattr(theirs, "_type", None) is _bit_field():
        return {bit for bit in range(32) if value >> bit & 1}
    return uuid.UUID(bytes=value) if field.type == "uuid" else value


@cache
def _bit_field() -> Any:
    return load("kafka.protocol.schemas.fields.codecs").BitField
