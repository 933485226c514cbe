"""ListOffsets (key 2), versions 1-11.

Behaviour: for each partition the offset that belongs to a timestamp, or to one of the special
values below zero. -1 latest: the high watermark, with read_committed the last stable offset. -2
earliest: the log start. -3: the first of the records with the largest timestamp. -4 earliest local:
the log start, as there is no other storage; -5 latest tiered and -6 earliest pending upload:
nothing. From 0: the first record that is not older. Whoever finds nothing, or only what the reader
may not see yet, gets offset -1 without an error. All ends are durable and never move back.

Errors, in this order: an unknown isolation level fails everything with UNKNOWN_SERVER_ERROR; a
partition named twice gets one INVALID_REQUEST; a special value the version does not have
UNSUPPORTED_VERSION; then UNKNOWN_TOPIC_OR_PARTITION, and FENCED_LEADER_EPOCH or
UNKNOWN_LEADER_EPOCH for the epoch the client names.

Versions: 2 isolation level; 4 leader epochs; 6 flexible; 7 adds -3, 8 -4, 9 -5, 11 -6; 10 a
timeout, for remote storage only.

Deviations from Apache Kafka: after DeleteRecords -3 looks at what is left; Kafka may name a deleted
record. A replica id (there are no followers) is treated like a client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import NamedTuple

from broker.context import Context
from broker.leader_epochs import check_leader_epoch
from broker.named_once import NamedOnce
from broker.partition import LEADER_EPOCH, Partition
from broker.registry import Api
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from storage.errors import StorageError

API = Api(2, 1, 11, answers_from_durable=True)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

KNOWN_FROM_VERSION = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}

READ_COMMITTED = 1
ISOLATION_LEVELS = (0, READ_COMMITTED)

Answer = ListOffsetsResponse.ListOffsetsPartitionResponse
Asked = ListOffsetsRequest.ListOffsetsPartition


class Search(NamedTuple):
    """A look into the files for a record by its time, and the answer it goes to."""

    partition: Partition
    timestamp: int
    upper_offset: int
    answer: Answer


def handle(
    context: Context, request: ListOffsetsRequest
) -> ListOffsetsResponse | Awaitable[ListOffsetsResponse]:
    """Ends of logs at once; looking for times may wait for the disk, so a thread does it."""
    searches: list[Search] = []
    answers: dict[str, list[Answer]] = {}
    named_once = NamedOnce(
        (topic.name, asked.partition_index)
        for topic in request.topics
        for asked in topic.partitions
    )
    is_known_isolation = request.isolation_level in ISOLATION_LEVELS
    for topic in request.topics:
        for asked in topic.partitions:
            place = (topic.name, asked.partition_index)
            if not named_once.is_first(place):
                continue
            answer = Answer(partition_index=asked.partition_index)
            answers.setdefault(topic.name, []).append(answer)
            if not is_known_isolation:
                answer.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
            elif not named_once.is_alone(place):
                answer.error_code = ErrorCode.INVALID_REQUEST
            else:
                _answer(context, request, topic.name, asked, answer, searches)
    response = ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.ListOffsetsTopicResponse(name=name, partitions=partitions)
            for name, partitions in answers.items()
        ]
    )
    return _search_in_thread(searches, response) if searches else response


def _answer(
    context: Context,
    request: ListOffsetsRequest,
    name: str,
    asked: Asked,
    answer: Answer,
    searches: list[Search],
) -> None:
    timestamp = asked.timestamp
    if timestamp < 0 and context.version < KNOWN_FROM_VERSION.get(timestamp, API.max_version + 1):
        answer.error_code = ErrorCode.UNSUPPORTED_VERSION
        return
    topic = context.broker.topics.get(name)
    index = asked.partition_index
    if topic is None or not 0 <= index < len(topic.partitions):
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return
    answer.error_code = check_leader_epoch(asked.current_leader_epoch)
    if answer.error_code:
        return
    partition = topic.partitions[index]
    upper_offset = partition.visible_end(request.isolation_level == READ_COMMITTED)
    if timestamp == LATEST:
        _found(answer, upper_offset)
    elif timestamp in (EARLIEST, EARLIEST_LOCAL):
        _found(answer, partition.log_start_offset)
    elif timestamp >= 0 or timestamp == MAX_TIMESTAMP:
        searches.append(Search(partition, timestamp, upper_offset, answer))


def _found(answer: Answer, offset: int, timestamp: int = -1) -> None:
    answer.offset = offset
    answer.timestamp = timestamp
    answer.leader_epoch = LEADER_EPOCH


async def _search_in_thread(
    searches: list[Search], response: ListOffsetsResponse
) -> ListOffsetsResponse:
    await asyncio.get_running_loop().run_in_executor(None, _search, searches)
    return response


def _search(searches: list[Search]) -> None:
    for partition, timestamp, upper_offset, answer in searches:
        log = partition.log
        try:
            if timestamp == MAX_TIMESTAMP:
                # The largest of all that is there; a reader who may not see it yet is told nothing.
                found = log.offset_of_max_timestamp(partition.high_watermark)
            else:
                found = log.offset_for_timestamp(timestamp, upper_offset)
        except (StorageError, OSError):
            answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        except ProtocolError:
            # Records are not looked at when they are produced, so only now is it seen that they
            # are not what their batch says.
            answer.error_code = ErrorCode.CORRUPT_MESSAGE
        else:
            if found is not None and found.offset < upper_offset:
                _found(answer, found.offset, found.timestamp)
