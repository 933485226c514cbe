"""ApiVersions: the first question of every client."""

import struct
from typing import Any

import pytest

from tests.wire.support import messages
from tests.wire.support.connection import Connection, frame, request_header
from tests.wire.support.error_codes import INVALID_REQUEST, UNSUPPORTED_VERSION

VERSIONS = range(5)
FLEXIBLE_VERSIONS = range(3, 5)

# What clients of today need inside the advertised range, per API key: (lowest, highest).
NEEDED_RANGES = {
    0: (0, 13),
    1: (4, 18),
    2: (1, 11),
    3: (0, 13),
    10: (0, 6),
    18: (0, 4),
    19: (2, 7),
    20: (1, 6),
    21: (0, 2),
    22: (0, 5),
    23: (2, 4),
    32: (1, 4),
    33: (0, 2),
    37: (0, 3),
    44: (0, 1),
    60: (0, 2),
    75: (0, 0),
}
TELEMETRY_KEYS = {71, 72}


def ask(connection: Connection, version: int, *, name: str = "wire", number: str = "1.0") -> Any:
    request = messages.ApiVersionsRequest(client_software_name=name, client_software_version=number)
    return connection.call(request, version)


def ranges(answer: Any) -> dict[int, tuple[int, int]]:
    return {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_is_answered_without_error(connection: Connection, version: int) -> None:
    answer = ask(connection, version)
    assert answer.error_code == 0
    assert answer.throttle_time_ms == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_each_api_is_listed_once_with_a_sound_range(connection: Connection, version: int) -> None:
    answer = ask(connection, version)
    assert len(ranges(answer)) == len(answer.api_keys)
    assert all(0 <= lowest <= highest for lowest, highest in ranges(answer).values())


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_ranges_are_told_in_every_version(connection: Connection, version: int) -> None:
    assert ranges(ask(connection, version)) == ranges(ask(connection, 0))


@pytest.mark.parametrize("api_key", NEEDED_RANGES)
def test_the_advertised_range_covers_what_clients_need(
    connection: Connection, api_key: int
) -> None:
    lowest, highest = ranges(ask(connection, 3))[api_key]
    needed_lowest, needed_highest = NEEDED_RANGES[api_key]
    assert lowest <= needed_lowest
    assert highest >= needed_highest


def test_produce_is_advertised_from_zero_for_old_librdkafka(connection: Connection) -> None:
    assert ranges(ask(connection, 3))[0][0] == 0


def test_refused_old_fetch_versions_are_not_advertised(connection: Connection) -> None:
    assert ranges(ask(connection, 3))[1][0] == 4


def test_telemetry_is_not_advertised(connection: Connection) -> None:
    assert not TELEMETRY_KEYS & set(ranges(ask(connection, 4)))


@pytest.mark.parametrize("version", [5, 99, 32767])
def test_too_new_a_version_is_answered_in_version_zero(
    connection: Connection, version: int
) -> None:
    body = b"a body that no version would parse"
    header = request_header(18, version, 77, "wire-tests", flexible=True)
    connection.send_bytes(frame(header + body))
    payload = connection.receive_frame()
    assert struct.unpack_from(">i", payload)[0] == 77
    answer = messages.decode(messages.response_class(messages.ApiVersionsRequest), payload[4:], 0)
    assert answer.error_code == UNSUPPORTED_VERSION
    assert list(ranges(answer)) == [18]


def test_the_connection_lives_on_after_a_too_new_version(connection: Connection) -> None:
    connection.send_bytes(frame(request_header(18, 99, 1, None, flexible=True)))
    connection.receive_frame()
    assert ask(connection, 3).error_code == 0


@pytest.mark.parametrize("version", FLEXIBLE_VERSIONS)
@pytest.mark.parametrize(
    "name", ["", "-leading", "trailing-", "with space", "n\u00e4me", "a_b", ".a"]
)
def test_a_bad_software_name_is_an_invalid_request(
    connection: Connection, version: int, name: str
) -> None:
    answer = ask(connection, version, name=name)
    assert answer.error_code == INVALID_REQUEST
    assert answer.api_keys == []


@pytest.mark.parametrize("version", FLEXIBLE_VERSIONS)
@pytest.mark.parametrize("number", ["", "1.0-", "v 1"])
def test_a_bad_software_version_is_an_invalid_request(
    connection: Connection, version: int, number: str
) -> None:
    assert ask(connection, version, number=number).error_code == INVALID_REQUEST


@pytest.mark.parametrize("name", ["a", "apache-kafka-java", "confluent.kafka-python", "X1", "1"])
def test_a_good_software_name_is_accepted(connection: Connection, name: str) -> None:
    assert ask(connection, 3, name=name, number="2.16.0-rc.1").error_code == 0


def test_the_connection_lives_on_after_a_bad_software_name(connection: Connection) -> None:
    ask(connection, 3, name="-")
    assert ask(connection, 3).error_code == 0


@pytest.mark.parametrize("version", FLEXIBLE_VERSIONS)
def test_the_response_header_has_no_tagged_fields(connection: Connection, version: int) -> None:
    request = messages.ApiVersionsRequest(client_software_name="wire", client_software_version="1")
    connection.send(request, version)
    payload = connection.receive_frame()
    # Were the header flexible, the error code would be shifted by a byte and the count with it.
    error_code, count_plus_one = struct.unpack_from(">hB", payload, 4)
    assert error_code == 0
    assert count_plus_one > len(NEEDED_RANGES)


def test_finalized_features_lie_within_the_supported_ones(connection: Connection) -> None:
    answer = ask(connection, 4)
    supported = {one.name: (one.min_version, one.max_version) for one in answer.supported_features}
    for feature in answer.finalized_features:
        lowest, highest = supported[feature.name]
        assert lowest <= feature.min_version_level <= feature.max_version_level <= highest


def test_finalized_features_come_with_an_epoch(connection: Connection) -> None:
    answer = ask(connection, 4)
    assert bool(answer.finalized_features) <= (answer.finalized_features_epoch >= 0)


def test_version_three_hides_features_that_start_at_zero(connection: Connection) -> None:
    assert all(one.min_version > 0 for one in ask(connection, 3).supported_features)


def test_api_versions_may_be_asked_again_at_any_time(connection: Connection) -> None:
    answers = [ask(connection, version) for version in (3, 0, 4, 2)]
    assert [answer.error_code for answer in answers] == [0, 0, 0, 0]
