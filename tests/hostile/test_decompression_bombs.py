"""Small batches that unpack to much: looked into where a rule needs the records, and only so far.

A compacted topic needs each record's key, and a timestamp in the future has every record checked;
so both have the broker unpack what a stranger sent.
"""

import gzip
import struct
from collections.abc import Callable

import cramjam
import lz4.frame
import pytest
import zstandard

from tests.hostile.support.anatomy import unsigned_varint
from tests.hostile.support.victim import MIB, Victim
from tests.wire.support import batches, requests
from tests.wire.support.batches import GZIP, LZ4, SNAPPY, ZSTD
from tests.wire.support.connection import Connection
from tests.wire.support.requests import Topic

PRODUCE_VERSION = 9
CORRUPT_MESSAGE = 2
MESSAGE_TOO_LARGE = 10
INVALID_TIMESTAMP = 32
INVALID_RECORD = 87
REFUSALS = {CORRUPT_MESSAGE, INVALID_TIMESTAMP, INVALID_RECORD, MESSAGE_TOO_LARGE}

LARGE_BYTES = 150 * MIB
FAR_FUTURE = 1 << 60
ROUNDS = 3
# Kafka names every faulty record; so do we, but only where there are not too many.
NAMING_ANSWER_BYTES_MAX = 16 * MIB

# length 6, attributes, timestamp delta 0, offset delta 0, null key, null value, no headers
SMALLEST_RECORD = bytes([12, 0, 0, 0, 1, 1, 0])

Pack = Callable[[bytes], bytes]


def pack_zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(data)


def pack_lz4(data: bytes) -> bytes:
    return bytes(lz4.frame.compress(data))


def pack_gzip(data: bytes) -> bytes:
    return gzip.compress(data, 9)


PACKERS: dict[int, Pack] = {GZIP: pack_gzip, LZ4: pack_lz4, ZSTD: pack_zstd}
NAMES = {GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}


def batch_around(codec: int, payload: bytes, record_count: int, **changes: int) -> bytes:
    """A batch with a right CRC around any payload."""
    base = batches.compressed(batches.build([b"x"]), codec, payload)
    changes |= {"record_count": record_count, "last_offset_delta": record_count - 1}
    return batches.patched(base, right_crc=True, **changes)


@pytest.fixture
def compacted(victim: Victim) -> Topic:
    configs = {"cleanup.policy": "compact", "max.message.bytes": str(16 * MIB)}
    return victim.healthy.create_topic(configs=configs)


@pytest.fixture
def ordinary(victim: Victim) -> Topic:
    return victim.healthy.create_topic(configs={"max.message.bytes": str(16 * MIB)})


def refuse_often(victim: Victim, topic: Topic, batch: bytes) -> None:
    """Sent several times: what one costs may not add up."""
    for _ in range(ROUNDS):
        answer = victim.healthy.try_produce(topic, batch)
        assert answer.error_code in REFUSALS
        victim.exercise_healthy_client()
        victim.check_memory()
    assert victim.healthy.latest(topic) == 0


@pytest.mark.parametrize("codec", PACKERS, ids=NAMES.get)
def test_a_batch_that_unpacks_to_zeros_without_end_is_refused(
    victim: Victim, compacted: Topic, codec: int
) -> None:
    bomb = PACKERS[codec](bytes(LARGE_BYTES))
    refuse_often(victim, compacted, batch_around(codec, bomb, 1))


@pytest.mark.parametrize("codec", PACKERS, ids=NAMES.get)
def test_a_batch_in_the_future_that_unpacks_to_zeros_is_refused(
    victim: Victim, ordinary: Topic, codec: int
) -> None:
    bomb = PACKERS[codec](bytes(LARGE_BYTES))
    refuse_often(victim, ordinary, batch_around(codec, bomb, 1, max_timestamp=FAR_FUTURE))


def test_a_batch_of_one_record_of_two_hundred_megabytes_is_refused(
    victim: Victim, compacted: Topic
) -> None:
    """A well-formed record: it is its size that is refused, not its form."""
    record = batches.build([batches.Record(bytes(60 * MIB), b"key")])[batches.HEADER.size :]
    refuse_often(victim, compacted, batch_around(ZSTD, pack_zstd(record * 4), 4))


@pytest.mark.parametrize("megabytes", [1, 4, 60])
def test_a_batch_of_millions_of_smallest_records_is_refused(
    victim: Victim, compacted: Topic, megabytes: int
) -> None:
    """Every record lacks its key; the answer may not name each of them at any price."""
    count = megabytes * MIB // len(SMALLEST_RECORD)
    bomb = pack_zstd(SMALLEST_RECORD * count)
    assert len(bomb) < MIB
    request = requests.produce(compacted, {0: batch_around(ZSTD, bomb, count)})
    with Connection(victim.bootstrap) as hostile:
        hostile.send(request, PRODUCE_VERSION)
        assert len(hostile.receive_frame()) < NAMING_ANSWER_BYTES_MAX
    assert victim.healthy.latest(compacted) == 0


def test_a_record_with_millions_of_headers_is_refused_or_cheap(
    victim: Victim, compacted: Topic
) -> None:
    count = 10_000_000
    head = bytes([0, 0, 0]) + varint(1) + b"k" + varint(-1) + varint(count)
    body = head + bytes(2 * count)
    bomb = pack_zstd(varint(len(body)) + body)
    victim.healthy.try_produce(compacted, batch_around(ZSTD, bomb, 1))


@pytest.mark.parametrize("declared", [2**32 - 1, 2**31, 512 * MIB])
def test_a_snappy_block_that_claims_to_be_large_is_refused(
    victim: Victim, compacted: Topic, declared: int
) -> None:
    block = unsigned_varint(declared) + cramjam_block(bytes(1000))[2:]
    refuse_often(victim, compacted, batch_around(SNAPPY, block, 1))


@pytest.mark.parametrize("claimed", [2**31 - 1, 2**32 - 1, 0x7FFFFFF0])
def test_a_snappy_chunk_that_claims_to_be_large_is_refused(
    victim: Victim, compacted: Topic, claimed: int
) -> None:
    """The length in front of a chunk in Java's framing."""
    payload = batches.XERIAL_HEADER + struct.pack(">I", claimed) + cramjam_block(bytes(1000))
    refuse_often(victim, compacted, batch_around(SNAPPY, payload, 1))


def test_many_snappy_chunks_that_are_large_together_are_refused(
    victim: Victim, compacted: Topic
) -> None:
    chunk = cramjam_block(bytes(8 * MIB))
    framed = struct.pack(">i", len(chunk)) + chunk
    payload = batches.XERIAL_HEADER + framed * 25
    refuse_often(victim, compacted, batch_around(SNAPPY, payload, 1))


def test_concatenated_streams_that_are_large_together_are_refused(
    victim: Victim, compacted: Topic
) -> None:
    one = pack_zstd(bytes(32 * MIB))
    refuse_often(victim, compacted, batch_around(ZSTD, one * 8, 1))
    member = pack_gzip(bytes(32 * MIB))
    refuse_often(victim, compacted, batch_around(GZIP, member * 8, 1))


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD], ids=NAMES.get)
@pytest.mark.parametrize("payload", [b"", b"\x00", bytes(1000), b"\xff" * 1000])
def test_a_payload_that_is_no_stream_at_all_is_refused(
    victim: Victim, compacted: Topic, codec: int, payload: bytes
) -> None:
    answer = victim.healthy.try_produce(compacted, batch_around(codec, payload, 1))
    assert answer.error_code in REFUSALS


def cramjam_block(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def varint(number: int) -> bytes:
    return unsigned_varint((number << 1) ^ (number >> 63))
