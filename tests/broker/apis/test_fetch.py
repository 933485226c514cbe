"""Fetch: readers get whole durable batches, within limits, and a wait ends when it should."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker.apis.fetch import API
from broker.apis.fetch import decode as decode_fetch
from broker.apis.fetch import handle as handle_fetch
from broker.context import Context
from protocol.errors import ErrorCode
from protocol.messages.fetch import FetchRequest
from protocol.primitives import Writer
from protocol.record_batch import walk_batches
from storage.errors import CorruptSegment
from tests.broker.support import START_MS, InProcessBroker

VERSIONS = range(API.min_version, API.max_version + 1)
MEBIBYTE = 1024 * 1024


def fetch(broker: InProcessBroker, *asked: tuple[int, int], **fields: Any) -> FetchRequest:
    """A Fetch of (partition, offset) pairs of the topic `events`."""
    limit = fields.pop("partition_max_bytes", MEBIBYTE)
    epoch = fields.pop("current_leader_epoch", -1)
    name = fields.pop("topic", "events")
    known = broker.broker.topics.get(name)
    partitions = [
        FetchRequest.FetchPartition(
            partition=partition,
            fetch_offset=offset,
            partition_max_bytes=limit,
            current_leader_epoch=epoch,
        )
        for partition, offset in asked
    ]
    topic = FetchRequest.FetchTopic(
        topic=name, topic_id=bytes(16) if known is None else known.topic_id, partitions=partitions
    )
    settings = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 50 * MEBIBYTE, **fields}
    return FetchRequest(topics=[topic], **settings)


def partitions_of(broker: InProcessBroker, request: FetchRequest, version: int = 12) -> list[Any]:
    answer = broker.call(request, version)
    assert answer.error_code == 0
    return list(answer.responses[0].partitions)


def offsets(records: Any) -> list[int]:
    return [header.base_offset for _, header in walk_batches(bytes(records))]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_returns_what_was_stored(broker: InProcessBroker, version: int) -> None:
    partition = broker.create_topic("events").partitions[0]
    broker.append(partition, START_MS, START_MS)
    broker.append(partition, START_MS)
    (answer,) = partitions_of(broker, fetch(broker, (0, 0)), version)
    assert (answer.error_code, answer.high_watermark, answer.last_stable_offset) == (0, 3, 3)
    assert offsets(answer.records) == [0, 2]


def test_reading_starts_at_the_batch_that_holds_the_offset(broker: InProcessBroker) -> None:
    partition = broker.create_topic("events").partitions[0]
    broker.append(partition, *[START_MS] * 5)
    broker.append(partition, START_MS)
    (answer,) = partitions_of(broker, fetch(broker, (0, 3)))
    assert offsets(answer.records) == [0, 5]


def test_nothing_new_is_zero_bytes_and_never_null(broker: InProcessBroker) -> None:
    broker.create_topic("events")
    (answer,) = partitions_of(broker, fetch(broker, (0, 0)))
    assert answer.records is not None
    assert len(answer.records) == 0


@pytest.mark.parametrize("offset", [-1, 4])
def test_an_offset_outside_the_log_is_out_of_range(broker: InProcessBroker, offset: int) -> None:
    broker.append(broker.create_topic("events").partitions[0], *[START_MS] * 3)
    (answer,) = partitions_of(broker, fetch(broker, (0, offset)))
    assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (answer.high_watermark, answer.log_start_offset) == (-1, -1)


def test_unknown_topics_and_partitions_have_their_errors(broker: InProcessBroker) -> None:
    broker.create_topic("events")
    (answer,) = partitions_of(broker, fetch(broker, (7, 0)))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (answer,) = partitions_of(broker, fetch(broker, (0, 0), topic="other"))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (answer,) = partitions_of(broker, fetch(broker, (0, 0), topic="other"), 13)
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_foreign_leader_epoch_is_told(broker: InProcessBroker) -> None:
    broker.create_topic("events")
    (answer,) = partitions_of(broker, fetch(broker, (0, 0), current_leader_epoch=1))
    assert answer.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_the_first_partition_returns_one_batch_whatever_the_limits(broker: InProcessBroker) -> None:
    topic = broker.create_topic("events", 2)
    for partition in topic.partitions:
        broker.append(partition, START_MS)
        broker.append(partition, START_MS)
    first, second = partitions_of(broker, fetch(broker, (0, 0), (1, 0), max_bytes=1))
    assert offsets(first.records) == [0]
    assert offsets(second.records) == []


def test_a_partition_named_twice_is_answered_once_as_asked_last(broker: InProcessBroker) -> None:
    partition = broker.create_topic("events").partitions[0]
    broker.append(partition, START_MS)
    broker.append(partition, START_MS)
    answers = partitions_of(broker, fetch(broker, (0, 0), (0, 1)))
    assert [offsets(answer.records) for answer in answers] == [[1]]


def test_a_claimed_session_is_not_found(broker: InProcessBroker) -> None:
    broker.create_topic("events")
    answer = broker.call(fetch(broker, (0, 0), session_id=5, session_epoch=2), 12)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert answer.responses == []


def test_little_is_read_when_much_is_unread(broker: InProcessBroker) -> None:
    partition = broker.create_topic("events").partitions[0]
    broker.append(partition, START_MS)
    broker.append(partition, START_MS)
    broker.connection.unsent_bytes_left = 0
    (answer,) = partitions_of(broker, fetch(broker, (0, 0)))
    assert offsets(answer.records) == [0]


def test_an_unreadable_log_fails_its_own_partition_only(
    broker: InProcessBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = broker.create_topic("events", 2).partitions
    broker.append(bad, START_MS)
    broker.append(good, START_MS)

    def fail(*_: object, **__: object) -> None:
        raise CorruptSegment("events-0/0.log", 7, "no record batch begins here")

    monkeypatch.setattr(bad.log, "read", fail)
    first, second = partitions_of(broker, fetch(broker, (0, 0), (1, 0)))
    assert first.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert offsets(second.records) == [0]
    old, _ = partitions_of(broker, fetch(broker, (0, 0), (1, 0)), 5)
    assert old.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_many_unknown_partitions_are_not_waited_for(broker: InProcessBroker) -> None:
    broker.create_topic("events")
    asked = [(0, 0), *((number, 0) for number in range(1, 200))]
    answers = partitions_of(broker, fetch(broker, *asked, max_wait_ms=60_000))
    assert len(answers) == 200


async def parked(broker: InProcessBroker, **fields: Any) -> asyncio.Task[Any]:
    """A Fetch that found nothing and waits, as a connection would run it."""
    writer = Writer()
    fetch(broker, (0, 0), max_wait_ms=60_000, **fields).encode(writer, 12)
    body = bytearray(writer.buffer)
    context = Context(broker.broker, broker.connection, 1, 12, 1, "", True)
    waiting = handle_fetch(context, decode_fetch(body, 0, len(body), 12))
    assert asyncio.iscoroutine(waiting)
    task = asyncio.ensure_future(waiting)
    await asyncio.sleep(0)
    assert not task.done()
    return task


def test_a_wait_ends_when_records_become_visible(broker: InProcessBroker) -> None:
    partition = broker.create_topic("events").partitions[0]

    async def scenario() -> None:
        task = await parked(broker)
        partition.publish(partition.ends())
        await asyncio.sleep(0)
        assert not task.done()
        broker.append(partition, START_MS)
        answer = await asyncio.wait_for(task, 10)
        assert offsets(answer.topics[0][2][0].records) == [0]

    asyncio.run(scenario())


def test_a_wait_ends_empty_when_another_request_arrives(broker: InProcessBroker) -> None:
    broker.create_topic("events")

    async def scenario() -> None:
        task = await parked(broker)
        broker.connection.on_interrupt()
        answer = await asyncio.wait_for(task, 10)
        assert len(answer.topics[0][2][0].records) == 0

    asyncio.run(scenario())


def test_a_wait_ends_with_an_error_when_the_topic_goes(broker: InProcessBroker) -> None:
    from broker.topic_changes import delete_topic

    topic = broker.create_topic("events")

    async def scenario() -> None:
        task = await parked(broker)
        delete_topic(broker.broker, topic)
        answer = await asyncio.wait_for(task, 10)
        assert answer.topics[0][2][0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    asyncio.run(scenario())
