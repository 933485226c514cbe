"""Produce: what only a look at every record of a batch can find.

Kafka always looks. oncelog judges a batch by its header and checksum unless told to look, so it is
told so here.
"""

import os
from collections.abc import Iterator

import pytest

from tests.support.broker_process import BrokerProcess
from tests.wire.conftest import FOREIGN_BOOTSTRAP
from tests.wire.support import batches
from tests.wire.support.batches import GZIP, LZ4, PAST_TIMESTAMP, SNAPPY, ZSTD, Record
from tests.wire.support.broker import Broker
from tests.wire.support.error_codes import INVALID_RECORD

RECORDS = [Record(b"value %d " % index * 20) for index in range(50)]


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that looks at every record."""
    foreign = os.environ.get(FOREIGN_BOOTSTRAP)
    if foreign is not None:
        with Broker(foreign) as helper:
            yield helper
        return
    data_directory = tmp_path_factory.mktemp("strict") / "data"
    flags = ("--set", "produce.validate.records=true")
    with (
        BrokerProcess(data_directory, *flags) as process,
        Broker(process.bootstrap) as helper,
    ):
        yield helper


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_bytes_that_do_not_decompress_are_refused(strict: Broker, codec: int) -> None:
    topic = strict.create_topic()
    garbage = b"not what the codec says" * 10
    batch = batches.compressed(batches.build(RECORDS), codec, garbage)
    assert strict.try_produce(topic, batch).error_code != 0
    assert strict.latest(topic) == 0


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@pytest.mark.parametrize("count", [49, 51])
def test_the_count_must_match_the_records_inside_a_compressed_batch(
    strict: Broker, codec: int, count: int
) -> None:
    topic = strict.create_topic()
    batch = batches.patched(
        batches.build(RECORDS, codec=codec), last_offset_delta=count - 1, record_count=count
    )
    assert strict.try_produce(topic, batch).error_code == INVALID_RECORD
    assert strict.latest(topic) == 0


@pytest.mark.parametrize("count", [1, 3])
def test_the_count_must_match_the_records_inside(strict: Broker, count: int) -> None:
    topic = strict.create_topic()
    batch = batches.patched(
        batches.build([b"first", b"second"]), last_offset_delta=count - 1, record_count=count
    )
    assert strict.try_produce(topic, batch).error_code == INVALID_RECORD
    assert strict.latest(topic) == 0


def test_a_cut_record_is_refused(strict: Broker) -> None:
    topic = strict.create_topic()
    batch = batches.patched(batches.build([b"first", b"second"])[:-3])
    assert strict.try_produce(topic, batch).error_code == INVALID_RECORD
    assert strict.latest(topic) == 0


@pytest.mark.parametrize("wrong", [PAST_TIMESTAMP - 1, PAST_TIMESTAMP + 77])
def test_a_wrong_max_timestamp_is_put_right(strict: Broker, wrong: int) -> None:
    topic = strict.create_topic()
    records = [Record(b"a", timestamp=PAST_TIMESTAMP), Record(b"b", timestamp=PAST_TIMESTAMP + 5)]
    strict.produce(topic, batches.patched(batches.build(records), max_timestamp=wrong))
    stored = strict.stored(topic)
    assert batches.header_of(stored)["max_timestamp"] == PAST_TIMESTAMP + 5
    assert batches.crc_is_right(stored)


def test_good_batches_of_every_codec_are_accepted(strict: Broker) -> None:
    topic = strict.create_topic()
    sent = [batches.build(RECORDS, codec=codec) for codec in range(5)]
    for batch in sent:
        strict.produce(topic, batch)
    stored = batches.split(strict.stored(topic))
    assert [batches.crc_covered(one) for one in stored] == [
        batches.crc_covered(one) for one in sent
    ]
