"""kio's encoder as a judge of ours.

Owns the way from our messages to theirs. It must never use our encoder.
"""

import datetime
import io
import uuid
from collections.abc import Mapping
from dataclasses import Field as Attribute
from dataclasses import fields
from functools import cache
from pkgutil import resolve_name
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from kio.schema.errors import ErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_writer
from kio.static.constants import EntityType
from kio.static.primitive import i32Timedelta, i64Timedelta

from scripts.message_schema import Message, Struct, snake_case

EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)


@cache
def _entity(api_name: str, kind: str, version: int) -> Any:
    paths: Mapping[Any, str] = schema_name_map[snake_case(api_name)][version]
    return resolve_name(paths[EntityType[kind]])


@cache
def _hints(entity: Any) -> dict[str, Any]:
    return get_type_hints(entity)


def encode(schema: Message, message: Any, version: int) -> bytes:
    entity = _entity(schema.api_name, schema.kind, version)
    output = io.BytesIO()
    write: Any = entity_writer(entity)
    write(output, _build(entity, schema.root, message, version))
    return output.getvalue()


def _build(entity: Any, struct: Struct, part: Any, version: int) -> Any:
    """Their fields come in the order of the schema, under slightly different names."""
    ours = [field for field in struct.fields if field.is_present(version)]
    pairs = zip(fields(entity), ours, strict=True)
    return entity(
        **{
            theirs.name: _convert(entity, theirs, field.struct, getattr(part, field.name), version)
            for theirs, field in pairs
        }
    )


def _convert(
    entity: Any, theirs: Attribute[Any], struct: Struct | None, value: Any, version: int
) -> Any:
    if value is None:
        return None
    hint = _without_null(_hints(entity)[theirs.name])
    if get_origin(hint) is tuple:
        element = get_args(hint)[0]
        return tuple(_single(element, theirs, struct, item, version) for item in value)
    return _single(hint, theirs, struct, value, version)


def _without_null(hint: Any) -> Any:
    if get_origin(hint) in (UnionType, Union):
        return next(choice for choice in get_args(hint) if choice is not type(None))
    return hint


def _single(
    hint: Any, theirs: Attribute[Any], struct: Struct | None, value: Any, version: int
) -> Any:
    if struct is not None:
        return _build(hint, struct, value, version)
    match theirs.metadata["kafka_type"]:
        case "uuid":
            return uuid.UUID(bytes=value) if any(value) else None
        case "timedelta_i32":
            return i32Timedelta.parse(datetime.timedelta(milliseconds=value))
        case "timedelta_i64":
            return i64Timedelta.parse(datetime.timedelta(milliseconds=value))
        case "datetime_i64":
            return EPOCH + datetime.timedelta(milliseconds=value)
        case "error_code":
            return ErrorCode(value)
        case _:
            return value
