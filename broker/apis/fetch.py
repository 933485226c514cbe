"""Fetch (key 1), versions 4-18.

Behaviour: returns whole batches, from the one that contains the asked offset, in request order, up
to the request's and the partition's byte limits; the first partition that has anything returns at
least one batch whatever the limits. Readers see only what is durable: up to the high watermark, or
with read_committed up to the last stable offset. With less than min_bytes to return the request is
parked until there is more, until max_wait has passed, or until another request arrives on the same
connection.

Versions: 5 log start offset; 7 sessions; 9 leader epoch check; 12 flexible; 13 topic ids.

Deviations from Apache Kafka: sessions are never opened (session id 0 in every answer, which the
protocol allows); a request that claims one gets FETCH_SESSION_ID_NOT_FOUND and the client starts
over. **A parked Fetch ends, empty, as soon as another request arrives on its connection**: Kafka
would let that request wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple

from broker.context import Context
from broker.leader_epochs import check_leader_epoch
from broker.limits import PARKED_FETCH_MS_MAX, UNKNOWN_PARTITIONS_PARKED_MAX
from broker.partition import LEADER_EPOCH, Partition
from broker.registry import Api, Buffer
from protocol.errors import ErrorCode
from protocol.fetch_wire import (
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    PartitionFetched,
    decode_fetch_request,
    encode_fetch_response,
)
from storage.errors import CorruptData

API = Api(1, 4, 18, answers_from_durable=True)

logger = logging.getLogger("oncelog.fetch")

READ_COMMITTED = 1
STORAGE_ERROR_FROM_VERSION = 6
"""Older clients do not know KAFKA_STORAGE_ERROR; they are sent to look for another leader."""

decode = decode_fetch_request


class Collected(NamedTuple):
    """What a look at all asked partitions found."""

    topics: list[FetchedTopic]
    size_bytes: int
    has_error: bool
    would_block: bool


class Answer(NamedTuple):
    """The response before it is encoded."""

    error_code: int
    topics: Sequence[FetchedTopic]


def encode(context: Context, answer: Answer) -> Sequence[Buffer]:
    """The answer as a list of buffers; records are not copied."""
    if context.version < STORAGE_ERROR_FROM_VERSION:
        for _, _, partitions in answer.topics:
            for partition in partitions:
                if partition.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                    partition.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return encode_fetch_response(
        context.correlation_id, context.version, answer.error_code, 0, 0, answer.topics
    )


def handle(context: Context, request: FetchRequest) -> Answer | Coroutine[Any, Any, Answer]:
    """Answer at once when that is possible, else return the coroutine that waits."""
    if request.session_epoch > 0:
        return Answer(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ())
    _drop_repeats(request)
    collected = _collect(context, request, may_block=False)
    if collected.would_block:
        return _wait(context, request)
    if not context.connection.has_more and not _is_enough(request, collected):
        return _wait(context, request)
    return Answer(0, collected.topics)


def _drop_repeats(request: FetchRequest) -> None:
    """A partition named more than once is answered once, as it was asked last, as in Kafka."""
    topics = request.topics
    if len(topics) == 1 and len(topics[0][2]) == 1:
        return
    merged: dict[tuple[str | None, bytes | None], dict[int, FetchPartition]] = {}
    for name, topic_id, partitions in topics:
        asked = merged.setdefault((name, topic_id), {})
        for partition in partitions:
            asked[partition[0]] = partition
    request.topics = [(*key, list(asked.values())) for key, asked in merged.items()]


def _is_enough(request: FetchRequest, collected: Collected) -> bool:
    return (
        collected.has_error
        or request.max_wait_ms <= 0
        or not request.topics
        or collected.size_bytes >= min(request.min_bytes, request.max_bytes)
    )


class _Parked:
    """A waiting Fetch, as the partitions and the connection see it."""

    __slots__ = ("_loop", "interrupted", "woken")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.interrupted = False
        self.woken: asyncio.Future[None] = loop.create_future()

    def wake(self) -> None:
        """There is something new to see, or the time is over."""
        if not self.woken.done():
            self.woken.set_result(None)

    def interrupt(self) -> None:
        """Another request stands behind this one: end the wait with what there is."""
        self.interrupted = True
        self.wake()

    async def wait(self, deadline: float) -> None:
        """Sleep until woken or until the deadline."""
        timer = self._loop.call_at(deadline, self.wake)
        try:
            await self.woken
        finally:
            timer.cancel()
        self.woken = self._loop.create_future()


async def _wait(context: Context, request: FetchRequest) -> Answer:
    """Look again whenever one of the partitions has something new, until it is enough."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + min(request.max_wait_ms, PARKED_FETCH_MS_MAX) / 1000
    parked = _Parked(loop)
    parked.interrupted = context.connection.has_more
    wake = parked.wake
    context.connection.on_interrupt = parked.interrupt
    partitions = [item for item in _asked_partitions(context, request) if item is not None]
    try:
        while True:
            for partition in partitions:
                partition.wait(wake)
            collected = _collect(context, request, may_block=False)
            if collected.would_block:
                # Cold data: let a thread wait for the disk, not the loop.
                collected = await loop.run_in_executor(None, _collect, context, request, True)
            if parked.interrupted or loop.time() >= deadline or _is_enough(request, collected):
                return Answer(0, collected.topics)
            await parked.wait(deadline)
    finally:
        for partition in partitions:
            partition.stop_waiting(wake)


def _asked_partitions(context: Context, request: FetchRequest) -> list[Partition | None]:
    found: list[Partition | None] = []
    topics = context.broker.topics
    for name, topic_id, partitions in request.topics:
        topic = topics.get(name) if name is not None else topics.get_by_id(topic_id)
        for asked in partitions:
            if topic is not None and 0 <= asked[0] < len(topic.partitions):
                found.append(topic.partitions[asked[0]])
            else:
                found.append(None)
    return found


def _collect(context: Context, request: FetchRequest, may_block: bool) -> Collected:
    """Read every asked partition in request order within the byte limits."""
    left = min(
        request.max_bytes,
        context.broker.settings.fetch_max_bytes,
        context.connection.unsent_bytes_left,
    )
    read_committed = request.isolation_level == READ_COMMITTED
    topics: list[FetchedTopic] = []
    size_bytes = 0
    has_error = False
    has_valid = False
    unknown = 0
    found = iter(_asked_partitions(context, request))
    for name, topic_id, partitions in request.topics:
        answers: list[PartitionFetched] = []
        for asked in partitions:
            partition = next(found)
            error = _refuse(context, partition, topic_id, asked)
            if partition is None:
                # Kafka goes on waiting for the partitions that do exist.
                unknown += 1
                answers.append(PartitionFetched(asked[0], error, -1))
                continue
            has_valid = True
            if error:
                answers.append(PartitionFetched(asked[0], error, -1))
                has_error = True
                continue
            answer = _read(
                partition,
                asked,
                max(left - size_bytes, 0),
                size_bytes == 0,
                read_committed,
                may_block,
            )
            if answer is None:
                return Collected([], 0, False, True)
            size_bytes += len(answer.records)
            has_error = has_error or answer.error_code != 0
            answers.append(answer)
        topics.append((name, topic_id, answers))
    has_error = has_error or not has_valid or unknown > UNKNOWN_PARTITIONS_PARKED_MAX
    return Collected(topics, size_bytes, has_error, False)


def _refuse(
    context: Context, partition: Partition | None, topic_id: bytes | None, asked: FetchPartition
) -> ErrorCode:
    if partition is None:
        known = topic_id is None or context.broker.topics.get_by_id(topic_id) is not None
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if known else ErrorCode.UNKNOWN_TOPIC_ID
    return check_leader_epoch(asked[1])


def _read(
    partition: Partition,
    asked: FetchPartition,
    left_bytes: int,
    is_first: bool,
    read_committed: bool,
    may_block: bool,
) -> PartitionFetched | None:
    """One partition's answer; None when the disk would have to be waited for."""
    index, _, offset, last_fetched_epoch, _, max_bytes = asked
    log = partition.log
    if not log.log_start_offset <= offset <= log.log_end_offset:
        return PartitionFetched(index, ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    answer = PartitionFetched(
        index,
        0,
        partition.high_watermark,
        partition.last_stable_offset,
        partition.log_start_offset,
        [] if read_committed else None,
    )
    if last_fetched_epoch > LEADER_EPOCH:
        return PartitionFetched(index, ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    upper = partition.visible_end(read_committed)
    limit = min(max_bytes, left_bytes)
    if offset >= upper or (limit <= 0 and not is_first):
        return answer
    try:
        found = log.read(offset, limit, upper, at_least_one=is_first, may_block=may_block)
    except (CorruptData, OSError) as error:
        # One unreadable file is no reason to fail the other partitions of this request.
        logger.error("cannot read %s-%d: %s", partition.topic.name, index, error)
        return PartitionFetched(index, ErrorCode.KAFKA_STORAGE_ERROR, -1)
    if found is None:
        return None
    answer.records = found.data
    return answer
