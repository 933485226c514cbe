"""The ApiVersions exchange of the doctor."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.probe import CLIENT_ID, ProbeError, decode_answer, encode_request


def answer(count: int, *ranges: tuple[int, int, int], error_code: int = 0) -> bytes:
    body = b"".join(struct.pack(">hhh", *entry) for entry in ranges)
    return struct.pack(">ihi", 1, error_code, count) + body


def test_the_request_is_a_version_0_request_with_its_length_in_front() -> None:
    request = encode_request()
    size, key, version, correlation_id, length = struct.unpack_from(">ihhih", request)
    assert (size, key, version, correlation_id) == (len(request) - 4, 18, 0, 1)
    assert request[14:] == CLIENT_ID
    assert length == len(CLIENT_ID)


def test_the_ranges_are_read_by_key() -> None:
    assert decode_answer(answer(2, (0, 3, 13), (18, 0, 4))) == {0: (3, 13), 18: (0, 4)}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "too short"),
        (answer(0, error_code=35), "error 35"),
        (answer(2, (0, 3, 13)), "length"),
        (answer(-1), "length"),
        (struct.pack(">ihi", 7, 0, 0), "another request"),
    ],
)
def test_a_wrong_answer_is_refused_with_its_reason(body: bytes, why: str) -> None:
    with pytest.raises(ProbeError, match=why):
        decode_answer(body)


@given(st.binary(max_size=100))
def test_no_bytes_raise_anything_else(body: bytes) -> None:
    try:
        decode_answer(body)
    except ProbeError:
        return
