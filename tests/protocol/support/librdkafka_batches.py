"""Record batches as librdkafka builds them, taken from the mock broker inside librdkafka.

Owns that way to get them. It must never look inside a batch.
"""

from __future__ import annotations

import logging
import socket
from struct import pack, unpack

from confluent_kafka import Producer

from protocol.headers import RequestHeader, decode_response_header, encode_request_header
from protocol.messages.fetch import FetchRequest, FetchResponse
from protocol.primitives import Reader, Writer
from protocol.record_batch import walk_batches

FETCH_KEY = 1
FETCH_VERSION = 11
TOPIC = "records"
TIMEOUT_S = 20
MAX_BYTES = 1 << 24

ProducedRecord = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]
"""key, value, headers, timestamp"""


def librdkafka_batches(compression: str, records: list[ProducedRecord]) -> bytes:
    """What librdkafka sends for these records, one or more batches."""
    quiet = logging.getLogger("librdkafka")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    producer = Producer(
        {"test.mock.num.brokers": 1, "compression.type": compression, "linger.ms": 100},
        logger=quiet,
    )
    for key, value, headers, timestamp in records:
        producer.produce(
            TOPIC, value, key, partition=0, headers=[*headers] or None, timestamp=timestamp
        )
    if producer.flush(TIMEOUT_S):
        raise TimeoutError("librdkafka's mock broker did not take the records")
    (broker,) = producer.list_topics(timeout=TIMEOUT_S).brokers.values()
    batches = b""
    offset = 0
    while offset < len(records):
        batches += _fetch(broker.port, offset)
        *_, (_, last) = walk_batches(batches)
        offset = last.last_offset + 1
    return batches


def _fetch(port: int, offset: int) -> bytes:
    writer = Writer()
    encode_request_header(writer, RequestHeader(FETCH_KEY, FETCH_VERSION, 1, "test"))
    partition = FetchRequest.FetchPartition(fetch_offset=offset, partition_max_bytes=MAX_BYTES)
    FetchRequest(
        max_wait_ms=1_000,
        min_bytes=1,
        max_bytes=MAX_BYTES,
        topics=[FetchRequest.FetchTopic(topic=TOPIC, partitions=[partition])],
    ).encode(writer, FETCH_VERSION)
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as connection:
        connection.sendall(pack(">i", len(writer.buffer)) + writer.buffer)
        with connection.makefile("rb") as answers:
            (size,) = unpack(">i", answers.read(4))
            reader = Reader(answers.read(size))
    decode_response_header(reader, FETCH_KEY, FETCH_VERSION)
    fetched = FetchResponse.decode(reader, FETCH_VERSION).responses[0].partitions[0]
    return bytes(fetched.records or b"")
