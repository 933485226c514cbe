"""Generated messages: the right bytes, in both directions, for every API and version."""

from random import Random

import pytest

from protocol.errors import ProtocolError
from protocol.messages import FLEXIBLE_FROM, NAMES, REQUESTS, RESPONSES
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.fetch import FetchRequest, FetchResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from protocol.messages.produce import ProduceRequest
from protocol.primitives import Reader, Writer
from scripts.message_schema import Message, snake_case
from tests.protocol.support import kafka_python_oracle, kio_oracle
from tests.protocol.support.message_values import (
    all_schemas,
    class_of,
    random_message,
    versions_of,
)
from tests.protocol.support.recording_writer import TaggingWriter, inner_writers

SCHEMAS = all_schemas()
SAMPLES = 3
CUTS = 40

# Table 0.3 of what a 4.1 broker parses, with the later versions that we serve as well.
EXPECTED_RANGES = {
    0: (3, 13), 1: (4, 18), 2: (1, 11), 3: (0, 13), 8: (2, 10), 9: (1, 10), 10: (0, 6),
    11: (0, 9), 12: (0, 4), 13: (0, 5), 14: (0, 5), 15: (0, 6), 16: (0, 5), 17: (0, 1),
    18: (0, 4), 19: (2, 7), 20: (1, 6), 21: (0, 2), 22: (0, 6), 23: (2, 4), 24: (0, 5),
    25: (0, 4), 26: (0, 5), 27: (1, 2), 28: (0, 5), 29: (1, 3), 30: (1, 3), 31: (1, 3),
    32: (1, 4), 33: (0, 2), 35: (1, 4), 36: (0, 2), 37: (0, 3), 38: (1, 3), 39: (1, 2),
    40: (1, 2), 41: (1, 3), 42: (0, 2), 44: (0, 1), 47: (0, 0), 48: (0, 1), 49: (0, 1),
    50: (0, 0), 51: (0, 0), 60: (0, 2), 61: (0, 0), 65: (0, 0), 66: (0, 2), 68: (0, 1),
    69: (0, 1), 75: (0, 0), 76: (1, 1), 77: (1, 1), 78: (1, 2), 79: (1, 2),
}  # fmt: skip

EXPECTED_FLEXIBLE = {
    0: 9, 1: 12, 2: 6, 3: 9, 8: 8, 9: 6, 10: 3, 11: 6, 12: 4, 13: 4, 14: 4, 15: 5, 16: 3,
    17: None, 36: 2, 18: 3, 19: 5, 20: 4, 37: 2, 21: 2, 22: 2, 23: 4, 24: 3, 25: 3, 26: 3,
    27: 1, 28: 3, 29: 2, 30: 2, 31: 2, 32: 4, 33: 2, 44: 1, 35: 2, 42: 2, 47: None, 48: 1,
    49: 1, 50: 0, 51: 0, 60: 0, 61: 0, 65: 0, 66: 0, 68: 0, 69: 0, 75: 0, 76: 0, 77: 0, 78: 0,
    79: 0,
}  # fmt: skip


def each(schemas: list[Message]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("schema", schemas, ids=[schema.name for schema in schemas])


every_message = each([*SCHEMAS.values()])
every_flexible_message = each([it for it in SCHEMAS.values() if it.flexible_from is not None])
every_message_of_kafka_python = each([*filter(kafka_python_oracle.knows, SCHEMAS.values())])


def encoded(message: object, version: int, writer: Writer | None = None) -> bytes:
    writer = writer or Writer()
    message.encode(writer, version)  # type: ignore[attr-defined]
    return bytes(writer.buffer)


def samples(schema: Message) -> list[tuple[int, object]]:
    random = Random(schema.name)
    versions = [version for version in versions_of(schema) for _ in range(SAMPLES)]
    return [(version, random_message(schema, version, random)) for version in versions]


@every_message_of_kafka_python
def test_bytes_equal_those_of_kafka_python(schema: Message) -> None:
    for version, message in samples(schema):
        theirs = kafka_python_oracle.encode(schema, message, version)
        assert encoded(message, version) == theirs, f"v{version} {message}"


@every_message
def test_bytes_equal_those_of_kio(schema: Message) -> None:
    for version, message in samples(schema):
        theirs = kio_oracle.encode(schema, message, version)
        assert encoded(message, version) == theirs, f"v{version} {message}"


@every_message
def test_what_was_encoded_decodes_to_the_same(schema: Message) -> None:
    for version, message in samples(schema):
        data = encoded(message, version)
        reader = Reader(b"..." + data + b"...", 3, 3 + len(data))
        assert class_of(schema).decode(reader, version) == message
        assert reader.remaining == 0


@every_message
def test_every_truncation_is_refused(schema: Message) -> None:
    random = Random(schema.name)
    for version in versions_of(schema):
        data = encoded(random_message(schema, version, random), version)
        cuts = range(len(data))
        if len(data) > CUTS and version != schema.versions[1]:
            cuts = range(random.randrange(len(data) // CUTS), len(data), len(data) // CUTS)
        for cut in cuts:
            with pytest.raises(ProtocolError):
                class_of(schema).decode(Reader(data[:cut]), version)


@every_flexible_message
def test_unknown_tags_are_skipped_at_every_level(schema: Message) -> None:
    for version, message in samples(schema):
        if not schema.is_flexible(version):
            continue
        with inner_writers(schema, TaggingWriter):
            data = encoded(message, version, TaggingWriter())
        reader = Reader(data)
        assert b"\x63\x03abc" in data
        assert class_of(schema).decode(reader, version) == message
        assert reader.remaining == 0


@every_message
def test_versions_outside_the_schema_are_refused(schema: Message) -> None:
    message = class_of(schema)
    for version in (-1, schema.versions[0] - 1, schema.versions[1] + 1):
        with pytest.raises(ValueError, match="version"):
            message.decode(Reader(bytes(100)), version)
        with pytest.raises(ValueError, match="version"):
            message().encode(Writer(), version)


@every_message
def test_random_bytes_decode_or_are_refused(schema: Message) -> None:
    random = Random(schema.name)
    for version in versions_of(schema):
        for _ in range(8):
            data = random.choice((random.randbytes(80), bytes(random.choices(range(4), k=80))))
            try:
                class_of(schema).decode(Reader(data), version)
            except ProtocolError:
                pass


def test_tables_hold_every_api_of_the_reference() -> None:
    for key, (first, last) in EXPECTED_RANGES.items():
        for table in (REQUESTS, RESPONSES):
            message = table[key]
            assert key == message.API_KEY
            assert first >= message.MIN_VERSION
            assert last <= message.MAX_VERSION


def test_flexible_versions_are_those_of_the_reference() -> None:
    assert {key: FLEXIBLE_FROM[key] for key in EXPECTED_FLEXIBLE} == EXPECTED_FLEXIBLE


def test_tables_agree_with_each_other() -> None:
    assert REQUESTS.keys() == RESPONSES.keys() == NAMES.keys() == FLEXIBLE_FROM.keys()
    for key, name in NAMES.items():
        assert REQUESTS[key].__name__ == f"{name}Request"
        assert RESPONSES[key].__name__ == f"{name}Response"
        assert REQUESTS[key].__module__ == f"protocol.messages.{snake_case(name)}"
        for table in (REQUESTS, RESPONSES):
            assert FLEXIBLE_FROM[key] == table[key].FLEXIBLE_FROM
        assert REQUESTS[key].MAX_VERSION == RESPONSES[key].MAX_VERSION


def test_lists_are_not_shared_between_messages() -> None:
    one, two = CreateTopicsRequest(), CreateTopicsRequest()
    one.topics.append(CreateTopicsRequest.CreatableTopic(name="a"))
    assert two.topics == []
    assert CreateTopicsRequest().topics == []


def test_defaults_are_those_of_the_schema() -> None:
    assert FetchRequest().max_bytes == 0x7FFFFFFF
    assert FetchRequest.FetchPartition().high_watermark == (1 << 63) - 1
    assert MetadataRequest().topics == []
    assert MetadataRequest().allow_auto_topic_creation is True
    assert MetadataResponse.MetadataResponseTopic().topic_authorized_operations == -(1 << 31)
    assert FetchResponse.PartitionData().records is None


def test_fields_absent_in_a_version_are_left_out_and_read_as_defaults() -> None:
    message = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    decoded = MetadataRequest.decode(Reader(encoded(message, 0)), 0)
    assert decoded.allow_auto_topic_creation is True


def test_null_in_a_field_that_is_not_nullable_is_refused() -> None:
    with pytest.raises(ProtocolError):
        MetadataRequest.decode(Reader(b"\xff\xff\xff\xff"), 0)
    assert MetadataRequest.decode(Reader(b"\xff\xff\xff\xff"), 1).topics is None
    with pytest.raises(ValueError, match="null"):
        encoded(MetadataRequest(topics=None), 0)


def test_records_are_a_view_of_the_input() -> None:
    partition = ProduceRequest.PartitionProduceData(index=1, records=b"batch")
    topic = ProduceRequest.TopicProduceData(name="a", partition_data=[partition])
    data = bytearray(encoded(ProduceRequest(topic_data=[topic]), 9))
    decoded = ProduceRequest.decode(Reader(data), 9)
    records = decoded.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    data[data.index(b"batch")] = ord("B")
    assert bytes(records) == b"Batch"


def test_a_known_tag_of_the_wrong_length_is_refused() -> None:
    data = encoded(FetchRequest(cluster_id="abc"), 12)
    tag = b"\x01\x00\x04\x04abc"
    assert data.endswith(tag)
    for wrong in (b"\x01\x00\x05\x04abcd", b"\x01\x00\x03\x04abc"):
        with pytest.raises(ProtocolError):
            FetchRequest.decode(Reader(data.removesuffix(tag) + wrong), 12)


def test_messages_compare_by_type_and_fields_and_print_both() -> None:
    one, two = MetadataRequest(topics=None), MetadataRequest(topics=[])
    assert one != two
    assert one == MetadataRequest(topics=None)
    assert one != "MetadataRequest"
    assert repr(CreateTopicsRequest.CreatableTopicConfig(name="a", value=None)) == (
        "CreateTopicsRequest.CreatableTopicConfig(name='a', value=None)"
    )
    with pytest.raises(TypeError):
        hash(one)


def test_messages_take_no_unknown_attributes() -> None:
    with pytest.raises(AttributeError):
        MetadataRequest().topic = []  # type: ignore[attr-defined]
