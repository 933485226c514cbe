"""How many bytes a struct takes at least on the wire, and at most in memory.

Owns the sizes behind the decoder's memory promise (see protocol/primitives.py). It must never
know the shape of generated code.

Figures are those of 64-bit CPython 3.11. They are upper bounds of what one field can cost, less
CONTENT_FACTOR bytes for each byte of content: a string of three bytes can take 76, so it counts
61. The tests compare the promise with what tracemalloc sees.
"""

from __future__ import annotations

from protocol.primitives import CONTENT_FACTOR
from scripts.message_schema import Field, Message, Struct

SLOT_BYTES = 12
"""A place in a list that grows by appending."""

OBJECT_BYTES = 32
ATTRIBUTE_BYTES = 8
LIST_BYTES = 80
"""An empty list, and the first slots that it takes at once."""

WIRE_BYTES = {
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
MEMORY_BYTES = {
    "bool": 0,
    "int8": 32,
    "int16": 32,
    "uint16": 32,
    "int32": 32,
    "uint32": 32,
    "int64": 36,
    "float64": 24,
    "uuid": 49,
    "string": 61,
    "bytes": 25,
    "records": 184,
}


def element_size(message: Message, struct: Struct, version: int) -> tuple[int, int]:
    """The fewest bytes of an array element, and its charge against the reader's allowance."""
    fewest = _wire_bytes(message, struct, version)
    if fewest == 0:
        raise SystemExit(f"{struct.name} can be empty on the wire: its count cannot be bounded")
    return fewest, SLOT_BYTES + _memory_bytes(struct, version) - CONTENT_FACTOR * fewest


def _wire_bytes(message: Message, struct: Struct, version: int) -> int:
    is_flexible = message.is_flexible(version)
    fields = [it for it in struct.fields if it.is_present(version) and not it.is_tagged(version)]
    return sum(_field_bytes(message, item, version) for item in fields) + is_flexible


def _field_bytes(message: Message, item: Field, version: int) -> int:
    if item.struct is not None and not item.is_array:
        inner = _wire_bytes(message, item.struct, version)
        return 1 if item.is_nullable(version) else inner
    if not item.is_array and item.type in WIRE_BYTES:
        return WIRE_BYTES[item.type]
    if message.is_flexible(version):
        return 1
    return 2 if item.type == "string" and not item.is_array else 4


def _memory_bytes(struct: Struct, version: int) -> int:
    total = OBJECT_BYTES + ATTRIBUTE_BYTES * len(struct.fields)
    for item in struct.fields:
        if item.is_array:
            total += LIST_BYTES
        elif item.struct is not None:
            total += _memory_bytes(item.struct, version)
        elif item.is_present(version):
            total += MEMORY_BYTES[item.type]
    return total
