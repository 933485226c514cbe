"""Produce (key 0), versions 3-13; advertised from 0.

Behaviour: every partition's batch is checked, journaled and applied by itself; one bad partition
never fails another. The answer leaves when all of it is on stable storage, for acks=1 and acks=-1
alike. acks=0 gets no answer; if anything failed the connection is closed, the only sign such a
producer can see.

Versions: 0-2 are named in ApiVersions because librdkafka up to 2.11.0 looks for exactly version 0
before it compresses, but requests in them are refused (magic 0 and 1 are gone since Kafka 4.0). 7:
zstd allowed. 8: per record errors. 13: topic ids instead of names.

Deviations from Apache Kafka: a retried sequence range with other bytes is refused with
INVALID_RECORD and the message `conflicting_duplicate`; Kafka answers success and drops the bytes.
Records are not walked unless a topic setting needs it or `produce.validate.records` is on; so a
batch whose inside is broken is stored as it came, and a wrong max timestamp in the header is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.batch_intake import only_batch, take_batch
from broker.connection import CloseConnection
from broker.context import Context
from broker.record_checks import RecordsRefused
from broker.registry import Api, Buffer
from broker.topics import Topic
from protocol.compression import ZSTD
from protocol.errors import ErrorCode, KafkaError
from protocol.produce_wire import (
    PartitionProduced,
    ProducedTopic,
    ProduceRequest,
    decode_produce_request,
    encode_produce_response,
)
from protocol.record_batch import CODEC_MASK, HEADER_BYTES, TRANSACTIONAL_BIT

API = Api(0, 3, 13, advertised_min=0)

ZSTD_FROM_VERSION = 7
ALLOWED_ACKS = (-1, 0, 1)
ATTRIBUTES_LOW_BYTE = 22

decode = decode_produce_request


def encode(context: Context, response: list[ProducedTopic]) -> Sequence[Buffer]:
    """The whole answer in one piece."""
    return (encode_produce_response(context.correlation_id, context.version, response, 0),)


def handle(context: Context, request: ProduceRequest) -> list[ProducedTopic] | None:
    """Append every partition's batch."""
    refused_all = _refuse_all(request)
    response: list[ProducedTopic] = []
    failed = False
    for name, topic_id, partitions in request.topics:
        topics = context.broker.topics
        topic = topics.get(name) if name is not None else topics.get_by_id(topic_id)
        produced: list[PartitionProduced] = []
        for index, records in partitions:
            if refused_all is not None:
                answer = _failure(index, refused_all)
            else:
                answer = _append(context, request.acks, topic, index, records)
            failed = failed or answer.error_code != 0
            produced.append(answer)
        response.append((name, topic_id, produced))
    if request.acks == 0:
        if failed:
            raise CloseConnection("a produce request without acknowledgement failed")
        return None
    return response


def _refuse_all(request: ProduceRequest) -> KafkaError | None:
    """Faults of the request as a whole, which every partition then reports."""
    transactional = False
    for _, _, partitions in request.topics:
        for _, records in partitions:
            if records is not None and len(records) >= HEADER_BYTES:
                transactional |= records[ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_BIT != 0
    if transactional and request.transactional_id is None:
        return KafkaError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "a transactional batch needs the request's transactional id",
        )
    if transactional:
        return KafkaError(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            f"transactional id {request.transactional_id!r} has no transaction",
        )
    return None


def _append(
    context: Context, acks: int, topic: Topic | None, index: int, records: memoryview | None
) -> PartitionProduced:
    try:
        if topic is None:
            by_id = context.version >= 13
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
        if not 0 <= index < len(topic.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if context.version < ZSTD_FROM_VERSION:
            _refuse_zstd(records)
        partition = topic.partitions[index]
        batch, header = only_batch(records)
        if acks not in ALLOWED_ACKS:
            raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, "acks must be -1, 0 or 1")
        stored = take_batch(context.broker, partition, batch, header)
    except KafkaError as error:
        return _failure(index, error)
    return PartitionProduced(
        index, 0, stored.base_offset, stored.log_append_time, partition.log.log_start_offset
    )


def _refuse_zstd(records: memoryview | None) -> None:
    if (
        records is not None
        and len(records) >= HEADER_BYTES
        and records[ATTRIBUTES_LOW_BYTE] & CODEC_MASK == ZSTD
    ):
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or later"
        )


def _failure(index: int, error: KafkaError) -> PartitionProduced:
    record_errors = error.record_errors if isinstance(error, RecordsRefused) else ()
    return PartitionProduced(
        index, error.code, -1, record_errors=record_errors, error_message=error.message
    )
