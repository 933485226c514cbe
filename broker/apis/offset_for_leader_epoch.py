"""OffsetForLeaderEpoch (key 23), versions 2-4.

Behaviour: tells where the records of a leader epoch end, so that a consumer can see whether what it
has read was cut away. There is one epoch for ever: it ends at the high watermark, which never
falls, so nobody is ever told to go back. A later epoch, or -1, is not known: (-1, -1). An earlier
one ended before the log began: itself, with the log start. Errors: UNKNOWN_TOPIC_OR_PARTITION;
FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH for the epoch the client believes to be current.

Versions: 3 replica id (not looked at); 4 flexible.

Deviations from Apache Kafka: the end is the high watermark and not the log end, because what is
above it is not durable yet.
"""

from __future__ import annotations

from broker.context import Context
from broker.leader_epochs import check_leader_epoch
from broker.partition import LEADER_EPOCH
from broker.registry import Api
from protocol.errors import ErrorCode
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

API = Api(23, 2, 4, answers_from_durable=True)

NO_EPOCH = -1

Result = OffsetForLeaderEpochResponse.EpochEndOffset


def handle(context: Context, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """The end of the asked epoch, for each partition."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_end_of(context, topic.topic, asked) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _end_of(
    context: Context, name: str, asked: OffsetForLeaderEpochRequest.OffsetForLeaderPartition
) -> Result:
    result = Result(partition=asked.partition)
    topic = context.broker.topics.get(name)
    if topic is None or not 0 <= asked.partition < len(topic.partitions):
        result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return result
    result.error_code = check_leader_epoch(asked.current_leader_epoch)
    if result.error_code:
        return result
    partition = topic.partitions[asked.partition]
    if asked.leader_epoch == LEADER_EPOCH:
        result.leader_epoch, result.end_offset = LEADER_EPOCH, partition.high_watermark
    elif asked.leader_epoch < NO_EPOCH:
        result.leader_epoch = asked.leader_epoch
        result.end_offset = partition.log_start_offset
    return result
