"""Requests that lie: about their size, their counts, their lengths, or that end too early.

Each must be refused by hanging up, at the cost of nothing: a claimed number may not buy memory.
"""

import random
import struct
from collections.abc import Iterator

import pytest

from tests.hostile.support.anatomy import Sample, samples
from tests.hostile.support.attacker import Attacker, api_versions, frame, is_refused
from tests.hostile.support.victim import Victim
from tests.wire.support import messages
from tests.wire.support.connection import Connection

INT32_MAX = 2**31 - 1
INT32_MIN = -(2**31)
RANDOM_CONNECTIONS = 300
RANDOM_BYTES_MAX = 4096
SEED = 20_240_607


def served(victim: Victim) -> Iterator[Sample]:
    """A small valid request of every API and version the broker says it speaks."""
    with Connection(victim.bootstrap) as connection:
        answer = connection.call(messages.ApiVersionsRequest(), 0)
    # Produce 0 to 2 are named for old clients only; they are refused.
    lowest = {0: 3}
    for api in answer.api_keys:
        first = max(api.min_version, lowest.get(api.api_key, 0))
        yield from samples(api.api_key, range(first, api.max_version + 1))


def not_refused(victim: Victim, payloads: Iterator[tuple[str, bytes]]) -> list[str]:
    """The names of the payloads after which the broker went on as if they had been fine."""
    return [name for name, payload in payloads if not is_refused(victim.bootstrap, frame(payload))]


def test_the_unspoilt_requests_are_answered(victim: Victim) -> None:
    """Else the tests below would prove nothing: they spoil exactly these requests."""
    found = [
        f"{sample.name} v{sample.version}"
        for sample in served(victim)
        if is_refused(victim.bootstrap, frame(bytes(sample.payload)))
    ]
    assert found == []


@pytest.mark.parametrize("count", [INT32_MAX, 2**24, 2**16])
def test_a_count_larger_than_the_request_is_refused(victim: Victim, count: int) -> None:
    def lies() -> Iterator[tuple[str, bytes]]:
        for sample in served(victim):
            for mark in sample.marks:
                if mark.kind == "count":
                    yield f"{sample.name} v{sample.version} {mark.path}", sample.lying(mark, count)

    assert not_refused(victim, lies()) == []


@pytest.mark.parametrize("count", [2**32 - 1, 2**24])
def test_a_number_of_tags_larger_than_the_request_is_refused(victim: Victim, count: int) -> None:
    def lies() -> Iterator[tuple[str, bytes]]:
        for sample in served(victim):
            for mark in sample.marks:
                if mark.kind == "tags":
                    yield f"{sample.name} v{sample.version} {mark.path}", sample.lying(mark, count)

    assert not_refused(victim, lies()) == []


@pytest.mark.parametrize("length", [INT32_MAX, 2**15 - 1])
def test_a_length_larger_than_the_request_is_refused(victim: Victim, length: int) -> None:
    def lies() -> Iterator[tuple[str, bytes]]:
        for sample in served(victim):
            for mark in sample.marks:
                if mark.kind == "length":
                    number = min(length, 2**15 - 1) if mark.size == 2 else length
                    name = f"{sample.name} v{sample.version} {mark.path}"
                    yield name, sample.lying(mark, number)

    assert not_refused(victim, lies()) == []


@pytest.mark.parametrize("number", [-2, -(2**15)])
def test_negative_counts_and_lengths_are_refused_or_read_as_null(
    victim: Victim, number: int
) -> None:
    """Kafka reads some of them as null; what counts is that each gets an end."""
    for sample in served(victim):
        for mark in sample.marks:
            is_refused(victim.bootstrap, frame(sample.lying(mark, number)))


def test_a_request_cut_anywhere_is_refused(victim: Victim) -> None:
    def cuts() -> Iterator[tuple[str, bytes]]:
        for sample in served(victim):
            for length in range(len(sample.payload)):
                name = f"{sample.name} v{sample.version} cut to {length}"
                yield name, bytes(sample.payload[:length])

    assert not_refused(victim, cuts()) == []


@pytest.mark.parametrize("size", [INT32_MAX, INT32_MAX - 4, 104_857_601, -1, INT32_MIN, 0, 1, 9])
def test_a_frame_of_impossible_size_is_refused(victim: Victim, size: int) -> None:
    assert is_refused(victim.bootstrap, struct.pack(">i", size) + bytes(64))


def test_random_bytes_do_no_harm(victim: Victim) -> None:
    """The sender half-closes, so that the broker knows that nothing more comes."""
    chance = random.Random(SEED)
    for _ in range(RANDOM_CONNECTIONS):
        with Attacker(victim.bootstrap) as attacker:
            attacker.send(chance.randbytes(chance.randrange(1, RANDOM_BYTES_MAX)))
            attacker.finish_sending()
            attacker.receive_to_the_end()


def test_random_bodies_behind_a_right_header_do_no_harm(victim: Victim) -> None:
    chance = random.Random(SEED)
    for sample in served(victim):
        for _ in range(3):
            body = chance.randbytes(chance.randrange(RANDOM_BYTES_MAX))
            payload = bytes(sample.payload[: sample.body_at]) + body
            with Attacker(victim.bootstrap) as attacker:
                attacker.send(frame(payload))
                attacker.finish_sending()
                attacker.receive_to_the_end()


def test_flipped_bits_do_no_harm(victim: Victim) -> None:
    chance = random.Random(SEED)
    for sample in served(victim):
        for _ in range(10):
            payload = bytearray(sample.payload)
            at = chance.randrange(8, len(payload))
            payload[at] ^= 1 << chance.randrange(8)
            with Attacker(victim.bootstrap) as attacker:
                attacker.send(frame(bytes(payload)))
                attacker.finish_sending()
                attacker.receive_to_the_end()


def test_garbage_after_a_valid_request_is_refused_and_the_request_answered(victim: Victim) -> None:
    garbage = b"\xff" * 100
    with Attacker(victim.bootstrap) as attacker:
        attacker.send(api_versions() + garbage)
        assert attacker.is_answered()
        assert attacker.receive_to_the_end() == b""
