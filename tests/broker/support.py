"""A broker in this process, without sockets, files or threads: for tests of API pages.

`call` takes the way of a real request: it encodes the request, then decodes, handles and encodes it
with the page under test, then decodes the answer's bytes. What was committed is durable when `call`
returns. `restart` recovers a new broker from what the old one left in its memory filesystem.

    with InProcessBroker() as broker:
        answer = broker.call(MetadataRequest(topics=None), version=12)

Owns no expectation about any API. Must never reach into a page other than through its handler.
"""

from __future__ import annotations

import asyncio
import inspect
from types import SimpleNamespace, TracebackType
from typing import Any, Final, Self

import pytest

from broker.broker import Broker
from broker.changes import LogStartMoved
from broker.context import Context
from broker.durability import Durability
from broker.partition import Partition
from broker.recovery import recover
from broker.registry import Handler, load_handlers
from broker.settings import Settings
from broker.topics import Topic
from protocol.headers import decode_response_header, response_header_is_flexible
from protocol.messages import RESPONSES
from protocol.messages.produce import ProduceRequest
from protocol.primitives import Reader, Writer
from storage.memory_filesystem import MemoryFilesystem
from tests.wire.support import batches

START_MS: Final = 1_700_000_000_000
CORRELATION_ID: Final = 77
HOST: Final = "broker.example"
PORT: Final = 19092
PRODUCE_BY_NAME_VERSION: Final = 9
TRUSTED_SLACK_BYTES: Final = 1 << 30
SMALL_JOURNAL_FILE_BYTES: Final = 64 * 1024


class InProcessBroker:
    """See the top of this file. `now_ms` is the broker's clock; tests move it."""

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings(**{"journal_file_bytes": SMALL_JOURNAL_FILE_BYTES, **settings})
        self.now_ms = START_MS
        self.connection: Any = SimpleNamespace(
            has_more=False, on_interrupt=None, unsent_bytes_left=1 << 30
        )
        self._filesystem = MemoryFilesystem()
        self._handlers = load_handlers()
        self._loop = asyncio.new_event_loop()
        self.broker = self._start()

    def _start(self) -> Broker:
        state = recover(self.settings, self._filesystem)
        durability = Durability(state, self._loop, None, _fail)
        broker = Broker(self.settings, state, durability, now_ms=lambda: self.now_ms)
        broker.apis = [self._handlers[key].api for key in sorted(self._handlers)]
        broker.host, broker.port = HOST, PORT
        return broker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.broker.store.close()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def restart(self) -> None:
        """As after a crash: nothing but the journal is left."""
        self.broker.durability.flush()
        self.broker.store.close()
        self.broker = self._start()

    def handler(self, api_key: int) -> Handler:
        return self._handlers[api_key]

    def call(self, request: Any, version: int, client_id: str = "test") -> Any:
        """The decoded answer to a request; None if the page gives no answer."""
        api_key: int = request.API_KEY
        writer = Writer()
        request.encode(writer, version)
        body = bytes(writer.buffer)
        handler = self._handlers[api_key]
        context = Context(
            self.broker,
            self.connection,
            api_key,
            version,
            CORRELATION_ID,
            client_id,
            response_header_is_flexible(api_key, version),
        )
        response = handler.handle(context, handler.decode(bytearray(body), 0, len(body), version))
        if inspect.isawaitable(response):
            response = self._loop.run_until_complete(_result(response))
        self.broker.durability.flush()
        if response is None:
            return None
        return _decode(api_key, version, b"".join(handler.encode(context, response)))

    # Short ways to what tests need first.

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> Topic:
        """A topic; the settings' names have underscores for dots."""
        from broker.topic_changes import PartitionBudget, TopicWish, create_topic, plan_topic

        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        wish = TopicWish(name, partitions, configs=dotted)
        topic = create_topic(self.broker, plan_topic(self.broker, PartitionBudget(), wish))
        self.broker.durability.flush()
        return topic

    def append(self, partition: Partition, *timestamps: int) -> None:
        """One batch, with a record for each timestamp."""
        data = ProduceRequest.TopicProduceData
        records = [batches.Record(b"value", timestamp=one) for one in timestamps]
        written = ProduceRequest.PartitionProduceData(
            index=partition.index, records=memoryview(batches.build(records))
        )
        topic = data(name=partition.topic.name, partition_data=[written])
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])
        (answer,) = self.call(request, PRODUCE_BY_NAME_VERSION).responses
        if answer.partition_responses[0].error_code:
            raise AssertionError(answer)

    def delete_records(self, partition: Partition, offset: int) -> None:
        """Move the log start, durably."""
        change = LogStartMoved(partition.topic.topic_id, partition.index, offset)
        self.broker.durability.commit((change,))
        self.broker.durability.flush()

    def refuse_writes(self, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        """Let every commit fail with `error`, as with a full disk."""

        def refuse(changes: object) -> int:
            raise error

        monkeypatch.setattr(self.broker.durability, "commit", refuse)


async def _result(response: Any) -> Any:
    return await response


def _decode(api_key: int, version: int, data: bytes) -> Any:
    reader = Reader(data, slack_bytes=TRUSTED_SLACK_BYTES)
    if decode_response_header(reader, api_key, version) != CORRELATION_ID:
        raise AssertionError("the answer has another correlation id")
    answer = RESPONSES[api_key].decode(reader, version)
    if reader.remaining:
        raise AssertionError(f"{reader.remaining} bytes are left behind the answer")
    return answer


def _fail(error: BaseException) -> None:
    raise AssertionError("the broker would have ended the process") from error
