"""Frames and headers: what is answered, in which order, and what closes the connection."""

import struct

import pytest

from tests.wire.support import batches, messages, requests
from tests.wire.support.broker import Broker
from tests.wire.support.connection import (
    Connection,
    ConnectionClosedError,
    frame,
    request_header,
)

METADATA = 3
LARGEST_FRAME_BYTES = 100 * 1024 * 1024
MAX_INT32 = 0x7FFFFFFF
MIN_INT32 = -0x80000000

# (api key, version): one below and one above what is served.
UNSUPPORTED_VERSIONS = [
    (0, 0),
    (0, 1),
    (0, 2),
    (0, 99),
    (1, 3),
    (1, 99),
    (2, 0),
    (2, 99),
    (3, -1),
    (3, 99),
    (10, 99),
    (19, 1),
    (19, 99),
    (20, 0),
    (20, 99),
    (21, 99),
    (22, 99),
    (23, 1),
    (23, 99),
    (32, 0),
    (32, 99),
    (33, 99),
    (37, 99),
    (44, 99),
    (60, 99),
    (75, 99),
]


def is_alive(broker: Broker) -> bool:
    with broker.connect() as fresh:
        return len(fresh.call(requests.metadata(), 1).brokers) == 1


@pytest.mark.parametrize("api_key", [999, 32767, -1])
def test_an_unknown_api_key_closes_the_connection(
    connection: Connection, broker: Broker, api_key: int
) -> None:
    connection.send_bytes(frame(request_header(api_key, 0, 1, "x", flexible=False)))
    connection.expect_close()
    assert is_alive(broker)


@pytest.mark.parametrize(("api_key", "version"), UNSUPPORTED_VERSIONS)
def test_an_unsupported_version_closes_the_connection(
    connection: Connection, api_key: int, version: int
) -> None:
    header = request_header(api_key, version, 1, "x", flexible=False)
    connection.send_bytes(frame(header + bytes(64)))
    connection.expect_close()


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x00",
        b"\x00\x03\x00\x01\x00",
        struct.pack(">hhi", METADATA, 1, 1),
        struct.pack(">hhih", METADATA, 1, 1, 1000) + b"short",
        struct.pack(">hhih", METADATA, 1, 1, -2),
        struct.pack(">hhih", METADATA, 9, 1, -1),
        b"\xff" * 40,
    ],
    ids=[
        "empty",
        "one-byte",
        "cut-in-correlation-id",
        "no-client-id",
        "client-id-beyond-frame",
        "client-id-length-minus-two",
        "flexible-without-tags",
        "ones",
    ],
)
def test_a_header_that_does_not_parse_closes_the_connection(
    connection: Connection, broker: Broker, payload: bytes
) -> None:
    connection.send_bytes(frame(payload))
    connection.expect_close()
    assert is_alive(broker)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00\x00",
        struct.pack(">i", MAX_INT32),
        struct.pack(">i", 1),
        struct.pack(">ih", 1, 200) + b"short",
        struct.pack(">ih", 1, -1),
    ],
    ids=[
        "empty",
        "cut-in-count",
        "count-of-two-billion",
        "count-without-elements",
        "string-beyond-frame",
        "null-where-none-may-be",
    ],
)
def test_a_body_that_does_not_parse_closes_the_connection(
    connection: Connection, broker: Broker, body: bytes
) -> None:
    header = request_header(METADATA, 1, 1, "x", flexible=False)
    connection.send_bytes(frame(header + body))
    connection.expect_close()
    assert is_alive(broker)


@pytest.mark.oncelog_only
def test_a_string_that_is_not_utf_8_closes_the_connection(
    connection: Connection, broker: Broker
) -> None:
    header = request_header(METADATA, 1, 1, "x", flexible=False)
    connection.send_bytes(frame(header + struct.pack(">ih", 1, 2) + b"\xff\xfe"))
    connection.expect_close()
    assert is_alive(broker)


@pytest.mark.parametrize("size", [-1, MIN_INT32, LARGEST_FRAME_BYTES + 1, MAX_INT32])
def test_an_impossible_frame_size_closes_the_connection(
    connection: Connection, broker: Broker, size: int
) -> None:
    connection.send_bytes(struct.pack(">i", size) + b"and some bytes")
    connection.expect_close()
    assert is_alive(broker)


def test_an_http_request_closes_the_connection(connection: Connection, broker: Broker) -> None:
    connection.send_bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    connection.expect_close()
    assert is_alive(broker)


@pytest.mark.parametrize("version", [1, 9])
@pytest.mark.parametrize("client_id", [None, "", "a client", "\u00fcnic\u00f6de", "x" * 32767])
def test_any_client_id_is_accepted(broker: Broker, version: int, client_id: str | None) -> None:
    with broker.connect(client_id=client_id) as connection:
        assert len(connection.call(requests.metadata(), version).brokers) == 1


@pytest.mark.parametrize("correlation_id", [0, -1, MIN_INT32, MAX_INT32])
@pytest.mark.parametrize("version", [1, 9])
def test_any_correlation_id_is_echoed(
    connection: Connection, version: int, correlation_id: int
) -> None:
    connection.send(requests.metadata(), version, correlation_id=correlation_id)
    assert len(connection.receive().brokers) == 1


def test_the_same_correlation_id_may_be_used_twice(connection: Connection) -> None:
    for _ in range(2):
        connection.send(requests.metadata(), 1, correlation_id=7)
    assert [len(connection.receive().brokers) for _ in range(2)] == [1, 1]


def test_pipelined_requests_are_answered_in_order(connection: Connection) -> None:
    api_versions = messages.ApiVersionsRequest(
        client_software_name="wire", client_software_version="1"
    )
    wanted = [(requests.metadata(), 9), (api_versions, 3), (requests.metadata(), 0)] * 20
    connection.send_bytes(b"".join(connection.encode(*one) for one in wanted))
    answers = [connection.receive() for _ in wanted]
    names = [type(answer).__name__ for answer in answers]
    assert names == ["MetadataResponse", "ApiVersionsResponse", "MetadataResponse"] * 20


def test_pipelined_writes_and_reads_see_each_other_in_order(
    connection: Connection, broker: Broker
) -> None:
    topic = broker.create_topic()
    for index in range(5):
        connection.send(requests.produce(topic, {0: batches.build([b"%d" % index])}), 9)
        connection.send(requests.list_offsets(topic, [(0, requests.LATEST)]), 7)
    for index in range(5):
        assert connection.receive().responses[0].partition_responses[0].base_offset == index
        assert connection.receive().topics[0].partitions[0].offset == index + 1


def test_a_frame_may_arrive_byte_by_byte(connection: Connection) -> None:
    for byte in connection.encode(requests.metadata(), 9):
        connection.send_bytes(bytes([byte]))
    assert len(connection.receive().brokers) == 1


def test_a_frame_may_be_cut_anywhere_between_two_requests(connection: Connection) -> None:
    first = connection.encode(requests.metadata(), 9)
    second = connection.encode(requests.metadata(), 1)
    both = first + second
    cut = len(first) + 2
    connection.send_bytes(both[:cut])
    assert len(connection.receive().brokers) == 1
    connection.send_bytes(both[cut:])
    assert len(connection.receive().brokers) == 1


def test_requests_before_a_bad_frame_are_still_answered(connection: Connection) -> None:
    good = connection.encode(requests.metadata(), 1)
    bad = frame(request_header(999, 0, 1, "x", flexible=False))
    connection.send_bytes(good + bad)
    assert len(connection.receive().brokers) == 1
    connection.expect_close()


def test_requests_after_a_bad_frame_are_not_answered(connection: Connection) -> None:
    bad = frame(request_header(999, 0, 1, "x", flexible=False))
    connection.send_bytes(bad + connection.encode(requests.metadata(), 1))
    with pytest.raises(ConnectionClosedError):
        connection.receive()


def test_a_bad_frame_harms_no_other_connection(connection: Connection, broker: Broker) -> None:
    with broker.connect() as bystander:
        assert len(bystander.call(requests.metadata(), 1).brokers) == 1
        connection.send_bytes(struct.pack(">i", -5))
        connection.expect_close()
        assert len(bystander.call(requests.metadata(), 1).brokers) == 1


def test_a_client_that_leaves_in_the_middle_of_a_frame_harms_nobody(broker: Broker) -> None:
    with broker.connect() as leaver:
        leaver.send_bytes(leaver.encode(requests.metadata(), 9)[:-3])
    assert is_alive(broker)


def test_unknown_tagged_fields_are_skipped_in_header_and_body(connection: Connection) -> None:
    tags = b"\x02" + b"\x05\x03abc" + b"\xe8\x07\x00"  # tags 5 (three bytes) and 1000 (none)
    header = request_header(METADATA, 9, 5, "x", flexible=True, tags=tags)
    body = b"\x01" + b"\x00\x00\x00" + tags
    connection.send_bytes(frame(header + body))
    payload = connection.receive_frame()
    assert struct.unpack_from(">i", payload)[0] == 5
    answer = messages.decode(messages.response_class(messages.MetadataRequest), payload[5:], 9)
    assert len(answer.brokers) == 1


def test_trailing_bytes_after_the_body_are_ignored(connection: Connection) -> None:
    header = request_header(METADATA, 1, 5, "x", flexible=False)
    connection.send_bytes(frame(header + struct.pack(">i", 0) + b"trailing"))
    payload = connection.receive_frame()
    answer = messages.decode(messages.response_class(messages.MetadataRequest), payload[4:], 1)
    assert len(answer.brokers) == 1


def test_answers_still_come_after_the_client_stops_sending(connection: Connection) -> None:
    connection.send(requests.metadata(), 9)
    connection.finish_sending()
    assert len(connection.receive().brokers) == 1
    connection.expect_close()
