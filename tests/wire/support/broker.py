"""The broker under test as tests use it: fresh topics, produce, fetch, offsets.

Owns one connection for set-up and looking, apart from the connection a test examines. Waits by
asking again until a deadline, since Kafka's own CreateTopics answers before the topic is usable.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from tests.wire.support import requests
from tests.wire.support.connection import Connection
from tests.wire.support.requests import EARLIEST, LATEST, FetchFrom, Topic

POLL_DEADLINE_SECONDS = 20.0

METADATA_VERSION = 12
PRODUCE_VERSION = 12
FETCH_VERSION = 13
LIST_OFFSETS_VERSION = 7
CREATE_TOPICS_VERSION = 7


def poll_until(probe: Callable[[], Any], what: str) -> Any:
    """Ask until the answer is true; each question is a round trip, so this does not spin."""
    deadline = time.monotonic() + POLL_DEADLINE_SECONDS
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"deadline passed, still waiting: {what}")


class Broker:
    """Set-up and inspection of the broker under test."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._connection = Connection(bootstrap)

    def __enter__(self) -> "Broker":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def call(self, request: Any, version: int) -> Any:
        """Ask on the shared connection; one that failed is replaced, so that one broken test does
        not take the others with it.
        """
        try:
            return self._connection.call(request, version)
        except BaseException:
            self._connection.close()
            self._connection = Connection(self.bootstrap)
            raise

    @staticmethod
    def unique_name(prefix: str = "t") -> str:
        return f"{prefix}-{uuid.uuid4().hex}"

    def create_topic(
        self, *, partitions: int = 1, name: str | None = None, configs: dict[str, str] | None = None
    ) -> Topic:
        """A new topic, ready for use."""
        name = name or self.unique_name()
        wanted = requests.creatable(name, partitions=partitions, configs=configs)
        answer = self.call(requests.create_topics(wanted), CREATE_TOPICS_VERSION)
        result = answer.topics[0]
        if result.error_code != 0:
            raise AssertionError(f"{name}: {result.error_code} {result.error_message}")
        return self.wait_until_usable(name, partitions)

    def wait_until_usable(self, name: str, partitions: int) -> Topic:
        """Wait until every partition is led and served."""
        poll_until(lambda: self._is_served(name, partitions), f"{name} to be served")
        return Topic(name, self.describe(name).topic_id)

    def _is_served(self, name: str, partitions: int) -> bool:
        described = self.describe(name)
        if described.error_code != 0 or len(described.partitions) != partitions:
            return False
        pairs = [(index, EARLIEST) for index in range(partitions)]
        request = requests.list_offsets(Topic(name), pairs)
        answer = self.call(request, LIST_OFFSETS_VERSION)
        return all(one.error_code == 0 for one in answer.topics[0].partitions)

    def describe(self, name: str) -> Any:
        """The Metadata of one topic, never creating it."""
        return self.call(requests.metadata(name), METADATA_VERSION).topics[0]

    def exists(self, name: str) -> bool:
        return bool(self.describe(name).error_code == 0)

    def node_id(self) -> int:
        answer = self.call(requests.metadata(), METADATA_VERSION)
        return int(answer.brokers[0].node_id)

    def leader_epoch(self, topic: Topic, partition: int = 0) -> int:
        return int(self.describe(topic.name).partitions[partition].leader_epoch)

    def try_produce(self, topic: Topic, records: bytes, *, partition: int = 0) -> Any:
        """Produce one batch and return the partition's answer, whatever it is."""
        request = requests.produce(topic, {partition: records})
        answer = self.call(request, PRODUCE_VERSION)
        return answer.responses[0].partition_responses[0]

    def produce(self, topic: Topic, records: bytes, *, partition: int = 0) -> int:
        """Produce one batch that must be accepted; returns its base offset."""
        answer = self.try_produce(topic, records, partition=partition)
        if answer.error_code != 0:
            raise AssertionError(f"refused: {answer}")
        return int(answer.base_offset)

    def fetch(self, topic: Topic, offset: int = 0, *, partition: int = 0) -> Any:
        """Everything from an offset of one partition, without waiting."""
        request = requests.fetch(FetchFrom(topic, offset, partition))
        answer = self.call(request, FETCH_VERSION)
        return answer.responses[0].partitions[0]

    def stored(self, topic: Topic, partition: int = 0) -> bytes:
        """The bytes of the whole log of a partition."""
        found = self.fetch(topic, self.earliest(topic, partition), partition=partition)
        if found.error_code != 0:
            raise AssertionError(f"cannot read back: {found}")
        return bytes(found.records)

    def offset_of(self, topic: Topic, timestamp: int, partition: int = 0) -> int:
        request = requests.list_offsets(topic, [(partition, timestamp)])
        answer = self.call(request, LIST_OFFSETS_VERSION)
        found = answer.topics[0].partitions[0]
        if found.error_code != 0:
            raise AssertionError(f"no offset: {found}")
        return int(found.offset)

    def earliest(self, topic: Topic, partition: int = 0) -> int:
        return self.offset_of(topic, EARLIEST, partition)

    def latest(self, topic: Topic, partition: int = 0) -> int:
        return self.offset_of(topic, LATEST, partition)

    def delete_records(self, topic: Topic, offsets: Mapping[int, int]) -> None:
        answer = self.call(requests.delete_records(topic, offsets), 2)
        for partition in answer.topics[0].partitions:
            if partition.error_code != 0:
                raise AssertionError(f"refused: {partition}")

    @contextmanager
    def connect(self, *, client_id: str | None = "wire-tests") -> Iterator[Connection]:
        with Connection(self.bootstrap, client_id=client_id) as fresh:
            yield fresh
