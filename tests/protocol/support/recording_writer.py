"""A Writer that remembers where it wrote lengths and counts, or adds tags that nobody knows.

Owns knowledge of what the generated code calls: fixed-size fields never pass through `int16` and
`int32`, so whatever does is a length or a count. It must never know messages.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import SupportsIndex

import pytest

from protocol.primitives import Writer
from scripts.message_schema import Message, snake_case

HOSTILE_INT16 = b"\x7f\xff"
HOSTILE_INT32 = b"\x7f\xff\xff\xff"
HOSTILE_VARINT = b"\xff\xff\xff\xff\x0f"
UNKNOWN_TAG = b"\x63\x03abc"

Mark = tuple[int, int, bytes]
"""Where a length is, how long it is, and what to put there instead."""


class RecordingWriter(Writer):
    """Collects a mark for each length, count and size."""

    __slots__ = ("marks",)

    def __init__(self) -> None:
        super().__init__(_MarkingBytes(self))
        self.marks: list[Mark] = []

    def int16(self, value: int) -> None:
        self.marks.append((len(self.buffer), 2, HOSTILE_INT16))
        super().int16(value)

    def int32(self, value: int) -> None:
        self.marks.append((len(self.buffer), 4, HOSTILE_INT32))
        super().int32(value)

    def tagged_fields(self, values: list[tuple[int, Writer]]) -> None:
        self.unsigned_varint(len(values))
        for number, value in values:
            assert isinstance(value, RecordingWriter)
            self.buffer += bytes([number])
            self.unsigned_varint(len(value.buffer))
            start = len(self.buffer)
            self.marks += [(start + at, size, patch) for at, size, patch in value.marks]
            self.buffer += value.buffer


class _MarkingBytes(bytearray):
    """Single bytes are only ever appended as part of a varint."""

    def __init__(self, writer: RecordingWriter) -> None:
        super().__init__()
        self._writer = writer

    def append(self, item: SupportsIndex) -> None:
        self._writer.marks.append((len(self), 1, HOSTILE_VARINT))
        super().append(item)


class TaggingWriter(Writer):
    """Puts one unknown field into every section of tagged fields."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_TaggingBytes())

    def tagged_fields(self, values: list[tuple[int, Writer]]) -> None:
        self.unsigned_varint(len(values) + 1)
        for number, value in values:
            self.unsigned_varint(number)
            self.unsigned_varint(len(value.buffer))
            self.buffer += value.buffer
        self.buffer += UNKNOWN_TAG


class _TaggingBytes(bytearray):
    """An empty section is the one thing that generated code appends by itself."""

    def append(self, item: SupportsIndex) -> None:
        super().append(item)
        if "/protocol/messages/" in sys._getframe(1).f_code.co_filename:
            self[-1:] = b"\x01" + UNKNOWN_TAG


def module_of(schema: Message) -> ModuleType:
    return import_module(f"protocol.messages.{snake_case(schema.api_name)}")


@contextmanager
def inner_writers(schema: Message, writer: type[Writer]) -> Iterator[None]:
    """Let the message's module use `writer` for the values of tagged fields, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module_of(schema), "Writer", writer)
        yield
