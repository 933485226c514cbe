"""What all generated messages have in common.

Owns comparing and printing of messages and the constants that each of them carries. It must
never know a single API.

Messages are plain classes with slots and not dataclasses because of start-up time: making a
dataclass takes half a millisecond, and there are hundreds of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, Final, Self

from protocol.primitives import Reader, Writer

EMPTY: Final[list[Any]] = []
"""Default of list arguments; each message turns it into a list of its own. Never changed."""


class Part:
    """A struct inside a message, or a message itself."""

    __slots__: tuple[str, ...] = ()

    @classmethod
    def decode(cls, reader: Reader, version: int) -> Self:
        raise NotImplementedError

    def encode(self, writer: Writer, version: int) -> None:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__qualname__}({fields})"


class Message(Part):
    """A message that stands by itself, in any version from MIN_VERSION to MAX_VERSION."""

    __slots__ = ()

    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int | None]
    """The first version with compact lengths and tagged fields."""


class ApiMessage(Message):
    """A request or a response."""

    __slots__ = ()

    API_KEY: ClassVar[int]


def unsupported(message: type[Message], version: int) -> ValueError:
    """The error for a version that no schema describes; callers check versions before."""
    return ValueError(
        f"{message.__name__} version {version} is not in "
        f"{message.MIN_VERSION}-{message.MAX_VERSION}"
    )


class MessageTable(Mapping[int, type[ApiMessage]]):
    """Requests or responses by API key; each module is imported when it is first asked for.

    A broker that speaks a third of the APIs need not wait for the other two thirds at start.
    """

    def __init__(self, modules: Mapping[int, str], names: Mapping[int, str], suffix: str) -> None:
        self._modules = modules
        self._names = names
        self._suffix = suffix

    def __getitem__(self, api_key: int) -> type[ApiMessage]:
        module = import_module(f"protocol.messages.{self._modules[api_key]}")
        message: type[ApiMessage] = getattr(module, self._names[api_key] + self._suffix)
        return message

    def __iter__(self) -> Iterator[int]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)
