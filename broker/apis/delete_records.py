"""DeleteRecords (key 21), versions 0-2.

Behaviour: moves the log start of each partition up to the given offset, -1 meaning the high
watermark; the answer tells the log start that follows and leaves when it is durable. The log start
never moves back: a lower offset changes nothing and is no error. Checked in this order:
UNKNOWN_TOPIC_OR_PARTITION; an internal topic INVALID_TOPIC_EXCEPTION; a topic that is compacted and
never deleted POLICY_VIOLATION; above the high watermark or below -1 OFFSET_OUT_OF_RANGE. Of a
partition named twice the last counts, and one answer is given.

Versions: 2 flexible.

Deviations from Apache Kafka: the timeout is not looked at; there are no followers to wait for.
"""

from __future__ import annotations

from broker.changes import LogStartMoved
from broker.context import Context
from broker.partition import Partition
from broker.registry import Api
from broker.topics import INTERNAL_TOPICS
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from storage.errors import StorageFull

API = Api(21, 0, 2)

TO_HIGH_WATERMARK = -1
NO_LOW_WATERMARK = -1

Result = DeleteRecordsResponse.DeleteRecordsPartitionResult


def handle(context: Context, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Cut each log, or say why not."""
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = wanted.setdefault(topic.name, {})
        for asked in topic.partitions:
            offsets[asked.partition_index] = asked.offset
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsResponse.DeleteRecordsTopicResult(
                name=name,
                partitions=[
                    _cut(context, name, index, offset) for index, offset in offsets.items()
                ],
            )
            for name, offsets in wanted.items()
        ]
    )


def _cut(context: Context, name: str, index: int, offset: int) -> Result:
    try:
        partition = _find(context, name, index)
        _move_log_start(context, partition, _checked_offset(partition, offset))
    except KafkaError as error:
        return Result(partition_index=index, low_watermark=NO_LOW_WATERMARK, error_code=error.code)
    return Result(partition_index=index, low_watermark=partition.log.log_start_offset)


def _find(context: Context, name: str, index: int) -> Partition:
    if name in INTERNAL_TOPICS:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {name} is internal")
    topic = context.broker.topics.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {index} of {name}"
        )
    if topic.config.is_compacted and not topic.config.is_deleted:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"records of the compacted topic {name} are never deleted"
        )
    return topic.partitions[index]


def _checked_offset(partition: Partition, offset: int) -> int:
    if offset == TO_HIGH_WATERMARK:
        return partition.high_watermark
    if not 0 <= offset <= partition.high_watermark:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"offset {offset} is not within 0 and {partition.high_watermark}",
        )
    return offset


def _move_log_start(context: Context, partition: Partition, offset: int) -> None:
    if offset <= partition.log.log_start_offset:
        return
    change = LogStartMoved(partition.topic.topic_id, partition.index, offset)
    try:
        context.broker.durability.commit((change,))
    except StorageFull as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None
