"""Headers: which one goes with which API and version, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError
from protocol.headers import (
    API_VERSIONS_KEY,
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
    request_header_is_flexible,
    response_header_is_flexible,
)
from protocol.messages import FLEXIBLE_FROM, REQUESTS
from protocol.primitives import Reader, Writer
from tests.wire.support.kafka_python import load

ALL_VERSIONS = [
    (key, version)
    for key, request in REQUESTS.items()
    for version in range(request.MIN_VERSION, request.MAX_VERSION + 1)
]
NO_FLEXIBLE_VERSION = [key for key, first in FLEXIBLE_FROM.items() if first is None]


def encoded(header: RequestHeader) -> bytes:
    writer = Writer()
    encode_request_header(writer, header)
    return bytes(writer.buffer)


@given(
    st.sampled_from(ALL_VERSIONS),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
)
def test_request_headers_survive_and_equal_those_of_kafka_python(
    api: tuple[int, int], correlation_id: int, client_id: str
) -> None:
    header = RequestHeader(*api, correlation_id, client_id)
    wire = encoded(header)
    theirs = load("kafka.protocol.api_header").RequestHeader(
        request_api_key=api[0],
        request_api_version=api[1],
        correlation_id=correlation_id,
        client_id=client_id,
    )
    assert wire == bytes(theirs.encode(flexible=request_header_is_flexible(*api)))
    reader = Reader(wire + b"body")
    assert decode_request_header(reader) == header
    assert reader.remaining == 4


def test_every_truncated_request_header_is_refused() -> None:
    for header in (RequestHeader(3, 12, 7, "client"), RequestHeader(3, 1, 7, "client")):
        wire = encoded(header)
        for cut in range(len(wire)):
            with pytest.raises(ProtocolError):
                decode_request_header(Reader(wire[:cut]))


def test_a_null_client_id_reads_as_empty() -> None:
    header = decode_request_header(Reader(b"\x00\x03\x00\x01\x00\x00\x00\x05\xff\xff"))
    assert header == RequestHeader(3, 1, 5, "")


@pytest.mark.parametrize("wire", ["000300010000000500" + "01ff", "00030001000000058000"])
def test_malformed_client_ids_are_refused(wire: str) -> None:
    with pytest.raises(ProtocolError):
        decode_request_header(Reader(bytes.fromhex(wire)))


def test_unknown_tags_of_a_request_header_are_skipped() -> None:
    wire = encoded(RequestHeader(3, 12, 7, "client")).removesuffix(b"\0")
    reader = Reader(wire + b"\x02\x00\x01x\x09\x02yz" + b"body")
    assert decode_request_header(reader).client_id == "client"
    assert reader.remaining == 4


@pytest.mark.parametrize("api_key", [-1, 4, 9999])
def test_an_unknown_api_is_refused(api_key: int) -> None:
    data = api_key.to_bytes(2, "big", signed=True) + bytes(10)
    with pytest.raises(ProtocolError, match="API key"):
        decode_request_header(Reader(data))


def test_versions_past_the_schema_still_have_a_header() -> None:
    assert request_header_is_flexible(API_VERSIONS_KEY, 99)
    assert not request_header_is_flexible(API_VERSIONS_KEY, -1)


def test_both_headers_are_flexible_together_except_for_api_versions() -> None:
    for api_key, version in ALL_VERSIONS:
        first = FLEXIBLE_FROM[api_key]
        expected = first is not None and version >= first
        assert request_header_is_flexible(api_key, version) is expected
        is_answered = expected and api_key != API_VERSIONS_KEY
        assert response_header_is_flexible(api_key, version) is is_answered


@pytest.mark.parametrize("version", [0, 2, 3, 4, 99])
def test_an_api_versions_response_never_has_a_flexible_header(version: int) -> None:
    writer = Writer()
    encode_response_header(writer, API_VERSIONS_KEY, version, 9)
    assert writer.buffer == b"\x00\x00\x00\x09"


def test_response_headers_survive() -> None:
    for api_key, version in ALL_VERSIONS:
        writer = Writer()
        encode_response_header(writer, api_key, version, -5)
        is_flexible = response_header_is_flexible(api_key, version)
        assert writer.buffer == b"\xff\xff\xff\xfb" + b"\0" * is_flexible
        reader = Reader(writer.buffer)
        assert decode_response_header(reader, api_key, version) == -5
        assert reader.remaining == 0


def test_some_apis_are_never_flexible() -> None:
    assert sorted(NO_FLEXIBLE_VERSION) == [17, 47]
