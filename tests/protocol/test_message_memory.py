"""Decoding hostile bytes: refused, and never at the price of memory."""

import tracemalloc
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from protocol.errors import ProtocolError
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.offset_fetch import OffsetFetchRequest
from protocol.messages.share_fetch import ShareFetchRequest
from protocol.primitives import (
    CONTENT_FACTOR,
    MEMORY_FACTOR,
    MEMORY_SLACK_BYTES,
    Reader,
    Writer,
)
from scripts.message_schema import Field, Message, Struct
from tests.protocol.support.message_values import (
    all_schemas,
    class_of,
    random_message,
    versions_of,
)
from tests.protocol.support.recording_writer import RecordingWriter, inner_writers

SCHEMAS = all_schemas()
MANY = 500
NOISE_BYTES = 4000
"""What decoding costs once, whatever the input; less than a pointer for each of MANY elements."""

every_message = pytest.mark.parametrize("schema", SCHEMAS.values(), ids=list(SCHEMAS))

# The dearest values for their length on the wire: nothing here is shared by the interpreter.
DEAREST: dict[str, Any] = {
    "bool": True,
    "int8": -100,
    "int16": -(1 << 15),
    "uint16": 0xFFFF,
    "int32": -(1 << 31),
    "int64": -(1 << 63),
    "float64": 1e300,
    "uuid": b"0123456789abcdef",
    "string": "日",
    "bytes": b"ab",
    "records": b"",
}


@pytest.fixture(autouse=True)
def tracing() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def peak_bytes(schema: type[Any], reader: Reader, version: int) -> tuple[int, bool]:
    """What decoding needed at most, and whether it came to an end."""
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        kept = schema.decode(reader, version)
    except ProtocolError:
        kept = None
    return tracemalloc.get_traced_memory()[1] - before, kept is not None


@every_message
def test_a_hostile_length_anywhere_is_refused_without_allocating(schema: Message) -> None:
    random = Random(schema.name)
    for version in versions_of(schema):
        writer = RecordingWriter()
        with inner_writers(schema, RecordingWriter):
            random_message(schema, version, random).encode(writer, version)
        valid = bytes(writer.buffer)
        marks = random.sample(writer.marks, min(len(writer.marks), 15))
        for at, size, patch in marks:
            data = valid[:at] + patch + valid[at + size :]
            peak, is_decoded = peak_bytes(class_of(schema), Reader(data), version)
            assert not is_decoded, f"v{version} accepts {patch.hex()} at {at} of {valid.hex()}"
            assert peak <= MEMORY_FACTOR * len(data) + MEMORY_SLACK_BYTES


def arrays(struct: Struct, version: int) -> Iterator[tuple[Field, ...]]:
    """Paths to all arrays of structs that exist in `version`."""
    for field in struct.fields:
        if field.struct is not None and field.is_present(version):
            if field.is_array:
                yield (field,)
            for path in arrays(field.struct, version):
                yield (field, *path)


def dearest(schema: Message, struct: Struct, version: int, filling: int) -> Any:
    """A struct that costs much memory; its own arrays have `filling` elements."""
    part = class_of(schema) if struct is schema.root else getattr(class_of(schema), struct.name)
    values: dict[str, Any] = {}
    for field in struct.fields:
        if not field.is_present(version):
            continue
        if field.struct is not None:
            value = dearest(schema, field.struct, version, filling)
        else:
            value = DEAREST[field.type]
        values[field.name] = [value] * filling if field.is_array else value
    return part(**values)


def plant(schema: Message, path: tuple[Field, ...], elements: list[Any]) -> Any:
    """A message that has `elements` in the array at the end of `path`, and little else."""
    root = part = class_of(schema)()
    for field in path[:-1]:
        assert field.struct is not None
        inner = getattr(class_of(schema), field.struct.name)()
        setattr(part, field.name, [inner] if field.is_array else inner)
        part = inner
    setattr(part, path[-1].name, elements)
    return root


@every_message
@pytest.mark.parametrize("filling", [0, 1, 9])
def test_arrays_cost_no_more_memory_than_they_are_charged(schema: Message, filling: int) -> None:
    for version in {schema.versions[0], schema.versions[1]}:
        for path in arrays(schema.root, version):
            struct = path[-1].struct
            assert struct is not None
            few = MANY // (1 + filling)
            element = dearest(schema, struct, version, filling)
            writer = Writer()
            plant(schema, path, [element] * few).encode(writer, version)
            data = bytes(writer.buffer)
            reader = Reader(data, slack_bytes=1 << 40)
            allowance = reader.allowance
            peak, is_decoded = peak_bytes(class_of(schema), reader, version)
            assert is_decoded
            charged = allowance - reader.allowance
            assert peak <= charged + CONTENT_FACTOR * len(data) + NOISE_BYTES, path[-1].name


def bomb(message: Any, version: int) -> bytes:
    writer = Writer()
    message.encode(writer, version)
    return bytes(writer.buffer)


BOMBS = {
    "empty topics": (
        MetadataRequest,
        9,
        bomb(MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="")] * 500_000), 9),
    ),
    "short topics": (
        MetadataRequest,
        9,
        bomb(MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="é日")] * 9000), 9),
    ),
    "empty creations": (
        CreateTopicsRequest,
        7,
        bomb(CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic()] * 50_000), 7),
    ),
    "partition numbers": (
        OffsetFetchRequest,
        7,
        bomb(
            OffsetFetchRequest(
                topics=[
                    OffsetFetchRequest.OffsetFetchRequestTopic(
                        name="a", partition_indexes=[-(1 << 31)] * 100_000
                    )
                ]
            ),
            7,
        ),
    ),
    "acknowledgement types": (
        ShareFetchRequest,
        1,
        bomb(
            ShareFetchRequest(
                topics=[
                    ShareFetchRequest.FetchTopic(
                        partitions=[
                            ShareFetchRequest.FetchPartition(
                                acknowledgement_batches=[
                                    ShareFetchRequest.AcknowledgementBatch(
                                        acknowledge_types=[-100] * 400_000
                                    )
                                ]
                            )
                        ]
                    )
                ]
            ),
            1,
        ),
    ),
    "one wide string": (
        MetadataRequest,
        9,
        bomb(
            MetadataRequest(
                topics=[MetadataRequest.MetadataRequestTopic(name="a" * 32_000 + "🪵")] * 100
            ),
            9,
        ),
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_well_formed_bombs_stay_within_the_promise(name: str) -> None:
    message, version, data = BOMBS[name]
    peak, _ = peak_bytes(message, Reader(data), version)
    assert peak <= MEMORY_FACTOR * len(data) + MEMORY_SLACK_BYTES


def test_the_promise_leaves_room_for_large_honest_requests() -> None:
    topics = [MetadataRequest.MetadataRequestTopic(name=f"orders-{n}") for n in range(10_000)]
    data = bomb(MetadataRequest(topics=topics), 9)
    decoded = MetadataRequest.decode(Reader(data), 9)
    assert decoded.topics is not None
    assert len(decoded.topics) == 10_000
