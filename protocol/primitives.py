"""The primitive types of the Kafka wire: `Reader` takes them apart, `Writer` puts them together.

Owns bounds and memory safety: every length and count is checked against the bytes that are
left before anything is made of it. It must never know messages, APIs or versions.

Memory. A hostile peer can spend two bytes on a struct that costs us three hundred, so bounds
alone do not hold memory down. Decoding promises to stay under

    MEMORY_FACTOR * bytes given + MEMORY_SLACK_BYTES

Text costs at most CONTENT_FACTOR bytes of memory for a byte of content (four-byte characters,
plus the copy made while widening); the rest of the promise is an allowance from which each
array is charged, all at once and before it exists, with what its elements cost beyond that.
"""

from __future__ import annotations

import struct
import sys
from array import array
from struct import Struct
from typing import Any, Final, TypeAlias, TypeVar

from protocol.errors import ProtocolError

Buffer: TypeAlias = bytes | bytearray | memoryview
"""What may hold bytes on their way in or out."""

ElementSize: TypeAlias = tuple[int, int]
"""Of one array element: its fewest bytes on the wire, and its charge against the allowance."""

ZERO_UUID: Final = bytes(16)
"""Kafka's way to say "no id"."""

MEMORY_FACTOR: Final = 10
MEMORY_SLACK_BYTES: Final = 1 << 20
CONTENT_FACTOR: Final = 5
ALLOWANCE_FACTOR: Final = MEMORY_FACTOR - CONTENT_FACTOR

STRING_MAX_BYTES: Final = 0x7FFF
TAG_MIN_BYTES: Final = 2

INT8_ELEMENT: Final[ElementSize] = (1, 12 - CONTENT_FACTOR)
INT32_ELEMENT: Final[ElementSize] = (4, 8 + 32 + 4 - 4 * CONTENT_FACTOR)
INT64_ELEMENT: Final[ElementSize] = (8, 8 + 36 + 8 - 8 * CONTENT_FACTOR)
STRING_ELEMENT: Final[ElementSize] = (2, 12 + 61 - 2 * CONTENT_FACTOR)
COMPACT_STRING_ELEMENT: Final[ElementSize] = (1, 12 + 61 - CONTENT_FACTOR)
"""The slot in the list (12 bytes where lists grow ahead), the object, and copies on the way."""

_INT8: Final = Struct(">b")
_INT16: Final = Struct(">h")
_UINT16: Final = Struct(">H")
_INT32: Final = Struct(">i")
_UINT32: Final = Struct(">I")
_INT64: Final = Struct(">q")
_FLOAT64: Final = Struct(">d")

# One shared object for each: Python itself shares only -5 and up, and a list of int8 must not
# cost 32 bytes for every byte of input.
_INT8_VALUES: Final = (*range(128), *range(-128, 0))

_IS_LITTLE_ENDIAN: Final = sys.byteorder == "little"

T = TypeVar("T")


def required(value: T | None) -> T:
    """Return `value`, refusing null where the version at hand has no way to say null."""
    if value is None:
        raise ValueError("null in a field that is not nullable in this version")
    return value


class Reader:
    """A position in a buffer that moves forward as values are read.

    Values that run past the end, or cannot be decoded, raise ProtocolError. The position is
    meaningless after that.
    """

    __slots__ = ("allowance", "buffer", "end", "position")

    def __init__(
        self,
        buffer: Buffer,
        position: int = 0,
        end: int | None = None,
        *,
        slack_bytes: int = MEMORY_SLACK_BYTES,
    ) -> None:
        view = memoryview(buffer)
        if end is not None and end < len(view):
            view = view[:end]
        self.buffer = view
        self.position = position
        self.end = len(view)
        self.allowance = ALLOWANCE_FACTOR * (len(view) - position) + slack_bytes

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def unpack(self, layout: Struct) -> tuple[Any, ...]:
        """Read a run of fixed-size values at once."""
        position = self.position
        self.position = position + layout.size
        try:
            return layout.unpack_from(self.buffer, position)
        except struct.error:
            raise ProtocolError(f"{layout.size} bytes wanted at {position}") from None

    def take(self, size: int) -> memoryview:
        """Read `size` bytes without copying them."""
        start = self.position
        end = start + size
        if size < 0 or end > self.end:
            raise ProtocolError(f"{size} bytes wanted at {start} of {self.end}")
        self.position = end
        return self.buffer[start:end]

    def int8(self) -> int:
        value: int = self.unpack(_INT8)[0]
        return value

    def int16(self) -> int:
        value: int = self.unpack(_INT16)[0]
        return value

    def uint16(self) -> int:
        value: int = self.unpack(_UINT16)[0]
        return value

    def int32(self) -> int:
        value: int = self.unpack(_INT32)[0]
        return value

    def uint32(self) -> int:
        value: int = self.unpack(_UINT32)[0]
        return value

    def int64(self) -> int:
        value: int = self.unpack(_INT64)[0]
        return value

    def float64(self) -> float:
        value: float = self.unpack(_FLOAT64)[0]
        return value

    def boolean(self) -> bool:
        """Any byte but zero is true, as in Kafka."""
        value: int = self.unpack(_INT8)[0]
        return value != 0

    def uuid(self) -> bytes:
        return bytes(self.take(16))

    def unsigned_varint(self) -> int:
        """Read an unsigned 32-bit varint; a fifth byte with bits past the 32nd is refused."""
        position = self.position
        buffer = self.buffer
        try:
            value = buffer[position]
            position += 1
            if value > 0x7F:
                value &= 0x7F
                shift = 7
                while True:
                    byte = buffer[position]
                    position += 1
                    value |= (byte & 0x7F) << shift
                    if byte < 0x80:
                        break
                    shift += 7
                    if shift > 28:
                        raise ProtocolError("varint longer than 5 bytes")
                if value > 0xFFFFFFFF:
                    raise ProtocolError("varint over 32 bits")
        except IndexError:
            raise ProtocolError(f"varint cut short at {self.position}") from None
        self.position = position
        return value

    def varint(self) -> int:
        """Read a signed 32-bit zigzag varint."""
        value = self.unsigned_varint()
        return (value >> 1) ^ -(value & 1)

    def varlong(self) -> int:
        """Read a signed 64-bit zigzag varint."""
        position = self.position
        value = shift = 0
        try:
            while True:
                byte = self.buffer[position]
                position += 1
                value |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
                if shift > 63:
                    raise ProtocolError("varlong longer than 10 bytes")
        except IndexError:
            raise ProtocolError(f"varlong cut short at {self.position}") from None
        if value > 0xFFFFFFFFFFFFFFFF:
            raise ProtocolError("varlong over 64 bits")
        self.position = position
        return (value >> 1) ^ -(value & 1)

    def text(self, size: int) -> str:
        """Read `size` bytes of strict UTF-8."""
        start = self.position
        end = start + size
        if size < 0 or end > self.end:
            raise ProtocolError(f"string of {size} bytes at {start} of {self.end}")
        self.position = end
        try:
            return str(self.buffer[start:end], "utf-8")
        except UnicodeDecodeError:
            raise ProtocolError(f"string at {start} is not UTF-8") from None

    def string(self) -> str:
        return self.text(self.int16())

    def nullable_string(self) -> str | None:
        size = self.int16()
        return None if size == -1 else self.text(size)

    def compact_string(self) -> str:
        size = self.unsigned_varint() - 1
        if size > STRING_MAX_BYTES:
            raise ProtocolError(f"string of {size} bytes")
        return self.text(size)

    def compact_nullable_string(self) -> str | None:
        size = self.unsigned_varint() - 1
        if size > STRING_MAX_BYTES:
            raise ProtocolError(f"string of {size} bytes")
        return None if size == -1 else self.text(size)

    def bytes_(self) -> bytes:
        return bytes(self.take(self.int32()))

    def nullable_bytes(self) -> bytes | None:
        size = self.int32()
        return None if size == -1 else bytes(self.take(size))

    def compact_bytes(self) -> bytes:
        return bytes(self.take(self.unsigned_varint() - 1))

    def compact_nullable_bytes(self) -> bytes | None:
        size = self.unsigned_varint() - 1
        return None if size == -1 else bytes(self.take(size))

    def records(self) -> memoryview:
        """Read record batches as a view of the buffer, not a copy."""
        return self.take(self.int32())

    def nullable_records(self) -> memoryview | None:
        size = self.int32()
        return None if size == -1 else self.take(size)

    def compact_records(self) -> memoryview:
        return self.take(self.unsigned_varint() - 1)

    def compact_nullable_records(self) -> memoryview | None:
        size = self.unsigned_varint() - 1
        return None if size == -1 else self.take(size)

    def admit(self, count: int, element: ElementSize) -> int:
        """Return `count` if so many elements can follow and their memory is allowed."""
        minimum_bytes, charge = element
        if count < 0 or count * minimum_bytes > self.end - self.position:
            raise ProtocolError(f"{count} elements at {self.position} of {self.end}")
        self.allowance -= count * charge
        if self.allowance < 0:
            raise ProtocolError(f"{count} elements at {self.position} need too much memory")
        return count

    def count(self, element: ElementSize) -> int:
        return self.admit(self.int32(), element)

    def nullable_count(self, element: ElementSize) -> int:
        """Read an array's count; -1 means null."""
        count = self.int32()
        return count if count == -1 else self.admit(count, element)

    def compact_count(self, element: ElementSize) -> int:
        return self.admit(self.unsigned_varint() - 1, element)

    def compact_nullable_count(self, element: ElementSize) -> int:
        count = self.unsigned_varint() - 1
        return count if count == -1 else self.admit(count, element)

    def int8_list(self, count: int) -> list[int]:
        return [_INT8_VALUES[byte] for byte in self.take(count)]

    def int32_list(self, count: int) -> list[int]:
        return self._integers("i", 4 * count)

    def int64_list(self, count: int) -> list[int]:
        return self._integers("q", 8 * count)

    def _integers(self, typecode: str, size: int) -> list[int]:
        values = array(typecode)
        values.frombytes(self.take(size))
        if _IS_LITTLE_ENDIAN:
            values.byteswap()
        return values.tolist()

    def string_list(self, count: int) -> list[str]:
        return [self.string() for _ in range(count)]

    def compact_string_list(self, count: int) -> list[str]:
        return [self.compact_string() for _ in range(count)]

    def is_present(self) -> bool:
        """Read the byte in front of a nullable struct: negative means null."""
        return self.int8() >= 0

    def tag_count(self) -> int:
        count = self.unsigned_varint()
        if count * TAG_MIN_BYTES > self.end - self.position:
            raise ProtocolError(f"{count} tagged fields at {self.position} of {self.end}")
        return count

    def tag(self) -> tuple[int, int]:
        """Read a tagged field's number and the position where its value must end."""
        number = self.unsigned_varint()
        size = self.unsigned_varint()
        end = self.position + size
        if end > self.end:
            raise ProtocolError(f"tagged field of {size} bytes at {self.position} of {self.end}")
        return number, end

    def end_tag(self, end: int) -> None:
        """Insist that a tagged field that we know was exactly as long as it said."""
        if self.position != end:
            raise ProtocolError(f"tagged field ends at {self.position}, not at {end}")

    def skip_tagged_fields(self) -> None:
        """Skip a section of tagged fields of which we know none."""
        if self.position < self.end and self.buffer[self.position] == 0:
            self.position += 1
            return
        for _ in range(self.tag_count()):
            self.position = self.tag()[1]


class Writer:
    """A bytearray that grows; every method appends one value.

    A value out of its type's range raises (ValueError, struct.error): that is a mistake of
    ours, never the peer's.
    """

    __slots__ = ("buffer",)

    def __init__(self, buffer: bytearray | None = None) -> None:
        self.buffer = bytearray() if buffer is None else buffer

    def int8(self, value: int) -> None:
        self.buffer += _INT8.pack(value)

    def int16(self, value: int) -> None:
        self.buffer += _INT16.pack(value)

    def uint16(self, value: int) -> None:
        self.buffer += _UINT16.pack(value)

    def int32(self, value: int) -> None:
        self.buffer += _INT32.pack(value)

    def uint32(self, value: int) -> None:
        self.buffer += _UINT32.pack(value)

    def int64(self, value: int) -> None:
        self.buffer += _INT64.pack(value)

    def float64(self, value: float) -> None:
        self.buffer += _FLOAT64.pack(value)

    def boolean(self, value: bool) -> None:
        self.buffer.append(1 if value else 0)

    def uuid(self, value: bytes) -> None:
        if len(value) != 16:
            raise ValueError(f"uuid of {len(value)} bytes")
        self.buffer += value

    def unsigned_varint(self, value: int) -> None:
        if value < 0x80:
            self.buffer.append(value)
            return
        if value > 0xFFFFFFFF:
            raise ValueError(f"{value} does not fit a varint")
        self._groups_of_seven(value)

    def varint(self, value: int) -> None:
        if not -0x80000000 <= value <= 0x7FFFFFFF:
            raise ValueError(f"{value} does not fit a varint")
        self._groups_of_seven((value << 1) ^ (value >> 31))

    def varlong(self, value: int) -> None:
        if not -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
            raise ValueError(f"{value} does not fit a varlong")
        self._groups_of_seven((value << 1) ^ (value >> 63))

    def _groups_of_seven(self, value: int) -> None:
        while value > 0x7F:
            self.buffer.append((value & 0x7F) | 0x80)
            value >>= 7
        self.buffer.append(value)

    def string(self, value: str) -> None:
        content = value.encode()
        self.int16(len(content))
        self.buffer += content

    def nullable_string(self, value: str | None) -> None:
        if value is None:
            self.int16(-1)
        else:
            self.string(value)

    def compact_string(self, value: str) -> None:
        content = value.encode()
        if len(content) > STRING_MAX_BYTES:
            raise ValueError(f"string of {len(content)} bytes")
        self.unsigned_varint(len(content) + 1)
        self.buffer += content

    def compact_nullable_string(self, value: str | None) -> None:
        if value is None:
            self.buffer.append(0)
        else:
            self.compact_string(value)

    def bytes_(self, value: Buffer) -> None:
        self.int32(len(value))
        self.buffer += value

    def nullable_bytes(self, value: Buffer | None) -> None:
        if value is None:
            self.int32(-1)
        else:
            self.bytes_(value)

    def compact_bytes(self, value: Buffer) -> None:
        self.unsigned_varint(len(value) + 1)
        self.buffer += value

    def compact_nullable_bytes(self, value: Buffer | None) -> None:
        if value is None:
            self.buffer.append(0)
        else:
            self.compact_bytes(value)

    def int8_list(self, values: list[int]) -> None:
        self._integers("b", values)

    def int32_list(self, values: list[int]) -> None:
        self._integers("i", values)

    def int64_list(self, values: list[int]) -> None:
        self._integers("q", values)

    def _integers(self, typecode: str, values: list[int]) -> None:
        packed = array(typecode, values)
        if _IS_LITTLE_ENDIAN:
            packed.byteswap()
        self.buffer += packed.tobytes()

    def count(self, count: int) -> None:
        self.int32(count)

    def compact_count(self, count: int) -> None:
        self.unsigned_varint(count + 1)

    def null_count(self) -> None:
        self.int32(-1)

    def compact_null_count(self) -> None:
        self.buffer.append(0)

    def present(self, is_present: bool) -> None:
        """Write the byte in front of a nullable struct."""
        self.int8(1 if is_present else -1)

    def tagged_fields(self, values: list[tuple[int, Writer]]) -> None:
        """Write a section of tagged fields whose values were written apart."""
        self.unsigned_varint(len(values))
        for number, value in values:
            self.unsigned_varint(number)
            self.unsigned_varint(len(value.buffer))
            self.buffer += value.buffer

    def empty_tagged_fields(self) -> None:
        self.buffer.append(0)
