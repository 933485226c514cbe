"""The request and response classes of kafka-python: the judge of what we send and receive.

Owns the mapping from a request to its response. Must never know oncelog's own codec.
"""

from typing import Any

from tests.wire.support.kafka_python import load

_ADMIN: Any = load("kafka.protocol.admin")
_CONSUMER: Any = load("kafka.protocol.consumer")
_METADATA: Any = load("kafka.protocol.metadata")
_PRODUCER: Any = load("kafka.protocol.producer")
_API_MESSAGE: Any = load("kafka.protocol.api_message")

API_VERSIONS = 18

ApiVersionsRequest: Any = _METADATA.ApiVersionsRequest
FindCoordinatorRequest: Any = _METADATA.FindCoordinatorRequest
MetadataRequest: Any = _METADATA.MetadataRequest
ProduceRequest: Any = _PRODUCER.ProduceRequest
InitProducerIdRequest: Any = _PRODUCER.InitProducerIdRequest
FetchRequest: Any = _CONSUMER.FetchRequest
ListOffsetsRequest: Any = _CONSUMER.ListOffsetsRequest
OffsetForLeaderEpochRequest: Any = _CONSUMER.OffsetForLeaderEpochRequest
CreateTopicsRequest: Any = _ADMIN.CreateTopicsRequest
DeleteTopicsRequest: Any = _ADMIN.DeleteTopicsRequest
CreatePartitionsRequest: Any = _ADMIN.CreatePartitionsRequest
DeleteRecordsRequest: Any = _ADMIN.DeleteRecordsRequest
DescribeConfigsRequest: Any = _ADMIN.DescribeConfigsRequest
AlterConfigsRequest: Any = _ADMIN.AlterConfigsRequest
IncrementalAlterConfigsRequest: Any = _ADMIN.IncrementalAlterConfigsRequest
DescribeClusterRequest: Any = _ADMIN.DescribeClusterRequest
DescribeTopicPartitionsRequest: Any = _ADMIN.DescribeTopicPartitionsRequest

_MODULES = (_ADMIN, _CONSUMER, _METADATA, _PRODUCER)


def response_class(request_class: Any) -> Any:
    """The response class that answers a request class."""
    name = request_class.__name__.replace("Request", "Response")
    for module in _MODULES:
        if hasattr(module, name):
            return getattr(module, name)
    raise LookupError(name)


def decode(message_class: Any, body: bytes, version: int) -> Any:
    """Decode a body and hold it to its schema: the same value must encode to the same bytes.

    kafka-python accepts truncated fields and ignores trailing bytes; the round trip does not.
    Its ApiVersions class reads every error as version 0, so the common decoder is called here.
    """
    message = _API_MESSAGE.ApiMessage.decode.__func__(message_class, body, version=version)
    message._header = None  # kafka-python's decoder leaves it unset, its encoder reads it
    again = bytes(message.encode(version=version))
    if again != body:
        raise AssertionError(f"not canonical {message_class.__name__} v{version}: {body!r}")
    return message
