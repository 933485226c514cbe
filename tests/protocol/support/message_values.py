"""Random messages, made from the schemas.

Owns the choice of values: edges of every type, and only what every oracle can express. It must
never know how a value is encoded.
"""

from functools import cache
from importlib import import_module
from random import Random
from typing import Any

from protocol.message import Message as Body
from scripts.message_schema import Field, Message, Struct, load_messages, snake_case

INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
LAST_TIME_MS = 4_102_444_800_000
LAST_ERROR_CODE = 133
TEXTS = ("", "a", "topic-7", "grüße", "日本語", "🪵 log", "x" * 127, "y" * 130)
MANY = 3


@cache
def all_schemas() -> dict[str, Message]:
    return {message.name: message for message in load_messages()}


def class_of(schema: Message) -> type[Body]:
    module = import_module(f"protocol.messages.{snake_case(schema.api_name)}")
    found: type[Body] = getattr(module, schema.name)
    return found


def versions_of(schema: Message) -> range:
    return range(schema.versions[0], schema.versions[1] + 1)


def random_message(schema: Message, version: int, random: Random) -> Any:
    """A message in which every field that exists in `version` has a random value."""
    return _part(schema, schema.root, class_of(schema), version, random)


def _part(schema: Message, struct: Struct, part: type, version: int, random: Random) -> Any:
    values: dict[str, Any] = {}
    for field in struct.fields:
        is_left_out = field.is_tagged(version) and random.random() < 0.3
        if field.is_present(version) and not is_left_out:
            values[field.name] = _value(schema, field, version, random)
    return part(**values)


def _value(schema: Message, field: Field, version: int, random: Random) -> Any:
    if field.is_nullable(version) and random.random() < 0.25:
        return None
    if field.is_array:
        return [_single(schema, field, version, random) for _ in range(random.randint(0, MANY))]
    return _single(schema, field, version, random)


def _single(schema: Message, field: Field, version: int, random: Random) -> Any:
    if field.struct is not None:
        part = getattr(class_of(schema), field.struct.name)
        return _part(schema, field.struct, part, version, random)
    return random_primitive(field, random)


def random_primitive(field: Field, random: Random) -> Any:
    if field.name in ("error_code", "partition_error_code"):
        return random.randint(-1, LAST_ERROR_CODE)
    if field.type == "int64" and is_time(field):
        return random.choice((0, 1, 1500, random.randint(0, LAST_TIME_MS)))
    if field.type in INTEGER_BITS:
        return _integer(INTEGER_BITS[field.type], random)
    if field.type == "uint16":
        return random.choice((0, 1, 0x7FFF, 0x8000, 0xFFFF))
    if field.type == "bool":
        return random.random() < 0.5
    if field.type == "float64":
        return random.choice((0.0, -1.5, 1e300, random.random()))
    if field.type == "uuid":
        return random.choice((bytes(16), random.randbytes(16)))
    if field.type == "string":
        return random.choice(TEXTS)
    return random.randbytes(random.choice((0, 1, 61, 200)))


def is_time(field: Field) -> bool:
    """Fields that some oracles hold as dates or durations, and which so must be plausible."""
    return field.name.endswith(("_ms", "timestamp", "_time"))


def _integer(bits: int, random: Random) -> int:
    limit = 1 << (bits - 1)
    edges = (0, 1, -1, -100, limit - 1, -limit)
    return random.choice((*edges, random.randrange(-limit, limit)))
