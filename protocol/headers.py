"""Request and response headers: the few bytes in front of every body.

Owns which header goes with which API and version. It must never know what a body says, nor
which versions a broker chooses to serve.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from protocol.errors import ProtocolError
from protocol.messages import FLEXIBLE_FROM
from protocol.primitives import Reader, Writer

API_VERSIONS_KEY: Final = 18

_FIXED: Final = Struct(">hhih")
_CORRELATION_ID: Final = Struct(">i")


class RequestHeader(NamedTuple):
    """Who asks what, and under which number the answer is awaited."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str
    """A null client id reads as the empty one, as in Kafka."""


def request_header_is_flexible(api_key: int, api_version: int) -> bool:
    """Whether tagged fields end the request header; an unknown API is a ProtocolError."""
    try:
        flexible_from = FLEXIBLE_FROM[api_key]
    except KeyError:
        raise ProtocolError(f"unknown API key {api_key}") from None
    return flexible_from is not None and api_version >= flexible_from


def response_header_is_flexible(api_key: int, api_version: int) -> bool:
    """As for requests, except that a client reads ApiVersions before it knows any version."""
    return api_key != API_VERSIONS_KEY and request_header_is_flexible(api_key, api_version)


def decode_request_header(reader: Reader) -> RequestHeader:
    """Read the header; the client id has a 16-bit length even where all else is compact."""
    api_key, api_version, correlation_id, client_id_bytes = reader.unpack(_FIXED)
    client_id = "" if client_id_bytes == -1 else reader.text(client_id_bytes)
    if request_header_is_flexible(api_key, api_version):
        reader.skip_tagged_fields()
    return RequestHeader(api_key, api_version, correlation_id, client_id)


def encode_request_header(writer: Writer, header: RequestHeader) -> None:
    writer.int16(header.api_key)
    writer.int16(header.api_version)
    writer.int32(header.correlation_id)
    writer.string(header.client_id)
    if request_header_is_flexible(header.api_key, header.api_version):
        writer.empty_tagged_fields()


def decode_response_header(reader: Reader, api_key: int, api_version: int) -> int:
    """Read the header and return the correlation id."""
    correlation_id: int = reader.unpack(_CORRELATION_ID)[0]
    if response_header_is_flexible(api_key, api_version):
        reader.skip_tagged_fields()
    return correlation_id


def encode_response_header(
    writer: Writer, api_key: int, api_version: int, correlation_id: int
) -> None:
    writer.buffer += _CORRELATION_ID.pack(correlation_id)
    if response_header_is_flexible(api_key, api_version):
        writer.empty_tagged_fields()
