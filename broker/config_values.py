"""Config values: the types of values that settings of topics take, and the one way to write each.

Owns: parsing of a client's text into canonical text, by type.
Never knows: which settings exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum


class ConfigType(IntEnum):
    """How DescribeConfigs names a value's type (Kafka's numbers)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


class InvalidConfig(ValueError):
    """A setting that does not exist or a value it does not take; a sentence for the client."""


Canonical = Callable[[str], str]
"""From a client's text to the one way to write the value; InvalidConfig if it is none."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_REPLICA = re.compile(r"[0-9]+:[0-9]+")


def integer(least: int, most: int) -> Canonical:
    def canonical(text: str) -> str:
        if _INTEGER.fullmatch(text.strip()) is None:
            raise InvalidConfig("not a whole number")
        value = int(text)
        if not least <= value <= most:
            raise InvalidConfig(f"must lie between {least} and {most}")
        return str(value)

    return canonical


def ratio(text: str) -> str:
    try:
        value = float(text.replace("_", "?"))  # Python would read 1_0 as 10.
    except ValueError:
        raise InvalidConfig("not a number") from None
    if not 0 <= value <= 1:
        raise InvalidConfig("must lie between 0 and 1")
    return str(value)


def one_of(*choices: str) -> Canonical:
    def canonical(text: str) -> str:
        word = text.strip()
        if word not in choices:
            raise InvalidConfig(f"must be one of {', '.join(choices)}")
        return word

    return canonical


def list_of(*choices: str) -> Canonical:
    """Any of the choices, each once."""

    def canonical(text: str) -> str:
        items = split_list(text)
        unknown = [item for item in items if item not in choices]
        if unknown:
            raise InvalidConfig(f"{unknown[0]!r} is not one of {', '.join(choices)}")
        return ",".join(items)

    return canonical


def throttled_replicas(text: str) -> str:
    items = split_list(text)
    if items != ["*"] and not all(_REPLICA.fullmatch(item) for item in items):
        raise InvalidConfig("must be * or a list of partition:broker")
    return ",".join(items)


def boolean(text: str) -> str:
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise InvalidConfig("must be true or false")
    return word


def only_false(text: str) -> str:
    if boolean(text) == "true":
        raise InvalidConfig("must be false: there is no tiered storage")
    return "false"


def split_list(text: str) -> list[str]:
    """The items of a list setting, each once, in their first order."""
    return list(dict.fromkeys(item for item in map(str.strip, text.split(",")) if item))
