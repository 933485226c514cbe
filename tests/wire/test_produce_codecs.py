"""Produce: the codecs, kept as the client sent them or changed as the topic asks."""

from typing import Any

import pytest

from tests.wire.support import batches, requests
from tests.wire.support.batches import GZIP, HEADER, LZ4, NONE, SNAPPY, ZSTD, Record
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection
from tests.wire.support.requests import Topic

CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
RECORDS = [
    Record(b"value %d " % index * 20, b"key %d" % index, headers=(("h", b"%d" % index),))
    for index in range(50)
]
PLAIN = batches.build(RECORDS)

XERIAL = {
    "raw": batches.snappy_block(PLAIN[HEADER.size :]),
    "xerial-one-chunk": batches.snappy_xerial(PLAIN[HEADER.size :]),
    "xerial-many-chunks": batches.snappy_xerial(PLAIN[HEADER.size :], chunks=7),
}


@pytest.fixture
def topic(broker: Broker) -> Topic:
    return broker.create_topic()


def send(connection: Connection, topic: Topic, records: bytes, version: int = 9) -> Any:
    answer = connection.call(requests.produce(topic, {0: records}), version)
    return answer.responses[0].partition_responses[0]


@pytest.mark.parametrize("version", [7, 12])
@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_a_batch_is_kept_as_it_came(
    connection: Connection, broker: Broker, topic: Topic, codec: int, version: int
) -> None:
    batch = batches.build(RECORDS, codec=codec)
    assert send(connection, topic, batch, version).error_code == 0
    stored = broker.stored(topic)
    assert batches.crc_covered(stored) == batches.crc_covered(batch)
    assert batches.crc_is_right(stored)


@pytest.mark.parametrize("shape", XERIAL)
def test_both_shapes_of_snappy_are_accepted(
    connection: Connection, broker: Broker, topic: Topic, shape: str
) -> None:
    batch = batches.compressed(PLAIN, SNAPPY, XERIAL[shape])
    assert send(connection, topic, batch).error_code == 0
    assert batches.crc_covered(broker.stored(topic)) == batches.crc_covered(batch)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_offsets_count_the_records_inside(
    connection: Connection, broker: Broker, topic: Topic, codec: int
) -> None:
    batch = batches.build(RECORDS, codec=codec)
    offsets = [send(connection, topic, batch).base_offset for _ in range(3)]
    assert offsets == [0, len(RECORDS), 2 * len(RECORDS)]
    assert broker.latest(topic) == 3 * len(RECORDS)


@pytest.mark.parametrize("sent", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize("wanted", ["gzip", "lz4", "zstd", "uncompressed"])
def test_a_topic_with_its_own_codec_recompresses(
    connection: Connection, broker: Broker, wanted: str, sent: int
) -> None:
    topic = broker.create_topic(configs={"compression.type": wanted})
    assert send(connection, topic, batches.build(RECORDS, codec=sent)).error_code == 0
    stored = broker.stored(topic)
    assert batches.header_of(stored)["attributes"] == CODECS.get(wanted, NONE)
    assert batches.crc_is_right(stored)
    assert batches.read(stored) == list(enumerate(RECORDS))


def test_recompression_keeps_the_producer_fields(connection: Connection, broker: Broker) -> None:
    topic = broker.create_topic(configs={"compression.type": "gzip"})
    batch = batches.build(RECORDS, producer_id=77, producer_epoch=3, base_sequence=5)
    assert send(connection, topic, batch).error_code == 0
    header = batches.header_of(broker.stored(topic))
    found = (header["producer_id"], header["producer_epoch"], header["base_sequence"])
    assert found == (77, 3, 5)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_refused(
    connection: Connection, broker: Broker, topic: Topic, codec: int
) -> None:
    batch = batches.patched(PLAIN, attributes=codec)
    assert send(connection, topic, batch).error_code != 0
    assert broker.latest(topic) == 0
