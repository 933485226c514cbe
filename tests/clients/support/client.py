"""A client as the tests of this folder see it: it can send records and read them back.

Owns the interface only. Must never know any one client.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from tests.clients.support.records import Record

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
DEADLINE_SECONDS: Final = 100.0


class Client(Protocol):
    """One Kafka client."""

    @property
    def name(self) -> str: ...

    @property
    def codecs(self) -> tuple[str, ...]:
        """What it can compress with, and therefore read."""
        ...

    def records(self, count: int) -> Sequence[Record]:
        """Records as rich as this client can express them."""
        ...

    def produce(
        self, bootstrap: str, topic: str, codec: str, partitions: Sequence[Sequence[Record]]
    ) -> None:
        """Send all records of each partition in order; return when all are acknowledged."""
        ...

    def consume(self, bootstrap: str, topic: str, counts: Sequence[int]) -> list[list[Record]]:
        """Read this many records of each partition, from the first on, without a group."""
        ...
