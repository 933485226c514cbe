"""NamedOnce: requests that name a thing twice, which Kafka refuses with one answer for all of them.

Owns: counting and the error.
Never knows: what is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from protocol.errors import ErrorCode, KafkaError


class NamedOnce:
    """How often each thing of a request is named, and which were answered already."""

    __slots__ = ("_answered", "_count")

    def __init__(self, names: Iterable[Hashable]) -> None:
        self._count = Counter(names)
        self._answered: set[Hashable] = set()

    def is_first(self, name: Hashable) -> bool:
        """Whether nobody asked about this one before; what is named twice is answered once."""
        if name in self._answered:
            return False
        self._answered.add(name)
        return True

    def is_alone(self, name: Hashable) -> bool:
        """Whether the request names it only once."""
        return self._count[name] == 1

    def check(self, name: Hashable, what: str) -> None:
        """Raise KafkaError for what is named more than once."""
        if not self.is_alone(name):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Duplicate {what}.")
