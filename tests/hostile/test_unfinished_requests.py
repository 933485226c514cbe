"""Peers that send little, slowly, or stop in the middle: patience and memory must not run out."""

import struct
from contextlib import ExitStack

import pytest

from tests.hostile.support.attacker import Attacker, api_versions, frame
from tests.hostile.support.victim import MIB, UNFINISHED_REQUESTS_BYTES, Victim, wait_until
from tests.wire.support import batches, messages, requests
from tests.wire.support.connection import Connection

IDLE_CONNECTIONS = 1_000
IDLE_CONNECTION_BYTES_MAX = 16 * 1024
CHURNED_CONNECTIONS = 2_000
HALF_CLOSED_CONNECTIONS = 200
HALF_SENT_FRAMES = 100
CLAIMED_BYTES = 50 * MIB
LARGE_BATCH_BYTES = 900_000
SMALL_UNFINISHED_BYTES = 60_000


@pytest.fixture
def crowd() -> ExitStack:
    """Connections that stay open until the test is over; `with crowd:` closes them all."""
    return ExitStack()


def test_a_request_sent_byte_by_byte_is_answered(victim: Victim) -> None:
    with Connection(victim.bootstrap) as trickle:
        produce = requests.produce(victim.healthy.create_topic(), {0: batches.build([b"drop"])})
        wanted = [(messages.ApiVersionsRequest(), 0), (requests.metadata(), 9), (produce, 9)]
        for byte in b"".join(trickle.encode(*one) for one in wanted):
            trickle.send_bytes(bytes([byte]))
        answers = [trickle.receive() for _ in wanted]
    assert answers[2].responses[0].partition_responses[0].error_code == 0


def test_requests_byte_by_byte_on_many_connections_are_answered(victim: Victim) -> None:
    wanted = api_versions()
    with ExitStack() as crowd:
        trickles = [crowd.enter_context(Attacker(victim.bootstrap)) for _ in range(100)]
        for at in range(len(wanted)):
            for trickle in trickles:
                assert trickle.send(wanted[at : at + 1])
        assert all(trickle.is_answered() for trickle in trickles)


def test_a_thousand_idle_connections_cost_little_and_harm_nobody(
    victim: Victim, crowd: ExitStack
) -> None:
    before_bytes = victim.memory_bytes()
    with crowd:
        idle = [crowd.enter_context(Attacker(victim.bootstrap)) for _ in range(IDLE_CONNECTIONS)]
        for connection in idle:
            connection.send(api_versions())
        assert all(connection.is_answered() for connection in idle)
        growth_bytes = victim.memory_bytes() - before_bytes
        victim.exercise_healthy_client()
        for connection in idle:
            connection.send(api_versions())
        assert all(connection.is_answered() for connection in idle)
    assert growth_bytes <= IDLE_CONNECTIONS * IDLE_CONNECTION_BYTES_MAX


@pytest.mark.parametrize(
    "first",
    [b"", api_versions(), b"\x00\x00\x00\x20half"],
    ids=["silent", "one-request", "half-a-request"],
)
def test_connections_opened_and_closed_again_leave_nothing_behind(
    victim: Victim, first: bytes
) -> None:
    for _ in range(CHURNED_CONNECTIONS):
        with Attacker(victim.bootstrap) as connection:
            if first:
                connection.send(first)


def test_half_closed_connections_get_their_answers_and_are_closed(
    victim: Victim, crowd: ExitStack
) -> None:
    with crowd:
        for wants_answer in (True, False) * (HALF_CLOSED_CONNECTIONS // 2):
            connection = crowd.enter_context(Attacker(victim.bootstrap))
            if wants_answer:
                connection.send(api_versions())
            connection.finish_sending()
            assert connection.is_answered() == wants_answer
            assert connection.receive() == b""


def test_a_client_gone_while_its_fetch_waits_leaves_nothing_behind(
    victim: Victim, crowd: ExitStack
) -> None:
    """Nobody will ever read these answers; the waiting must end with the connection."""
    topic = victim.healthy.create_topic()
    waits = requests.fetch(requests.FetchFrom(topic, 0), max_wait_ms=10**9)
    with crowd:
        for _ in range(HALF_CLOSED_CONNECTIONS):
            crowd.enter_context(Connection(victim.bootstrap)).send(waits, 12)
        victim.wait_until_all_is_read()


def test_half_sent_large_frames_are_bounded_in_memory(victim: Victim, crowd: ExitStack) -> None:
    """All together they send several times what the broker may keep."""
    piece = bytes(2 * MIB)
    assert HALF_SENT_FRAMES * len(piece) > 6 * UNFINISHED_REQUESTS_BYTES
    with crowd:
        for number in range(HALF_SENT_FRAMES):
            connection = crowd.enter_context(Attacker(victim.bootstrap))
            connection.send(struct.pack(">i", CLAIMED_BYTES) + piece)
            if number % 10 == 0:
                victim.exercise_healthy_client()
        victim.wait_until_all_is_read()
        victim.exercise_with_large_batch(LARGE_BATCH_BYTES)
        victim.check_memory()


def test_frames_that_are_half_of_fifty_megabytes_are_bounded_in_memory(
    victim: Victim, crowd: ExitStack
) -> None:
    piece = bytes(CLAIMED_BYTES // 2)
    with crowd:
        for _ in range(8):
            connection = crowd.enter_context(Attacker(victim.bootstrap))
            connection.send(struct.pack(">i", CLAIMED_BYTES) + piece)
            victim.exercise_healthy_client()
        victim.wait_until_all_is_read()
        victim.exercise_with_large_batch(LARGE_BATCH_BYTES)
        victim.check_memory()


def test_large_claims_without_bytes_cost_nothing(victim: Victim, crowd: ExitStack) -> None:
    before_bytes = victim.memory_bytes()
    with crowd:
        for _ in range(HALF_SENT_FRAMES):
            connection = crowd.enter_context(Attacker(victim.bootstrap))
            connection.send(struct.pack(">i", CLAIMED_BYTES) + api_versions())
        victim.exercise_with_large_batch(LARGE_BATCH_BYTES)
        victim.wait_until_all_is_read()
        growth_bytes = victim.memory_bytes() - before_bytes
    assert growth_bytes <= 8 * MIB


def test_claims_of_the_eager_size_without_bytes_are_bounded(
    victim: Victim, crowd: ExitStack
) -> None:
    """Frames that are small enough to be given all their memory at once."""
    with crowd:
        for _ in range(HALF_SENT_FRAMES):
            connection = crowd.enter_context(Attacker(victim.bootstrap))
            connection.send(struct.pack(">i", 4 * MIB - 4) + bytes(64 * 1024))
        victim.wait_until_all_is_read()
        victim.exercise_with_large_batch(LARGE_BATCH_BYTES)
        victim.check_memory()


def test_many_small_unfinished_requests_are_bounded_in_memory(
    victim: Victim, crowd: ExitStack
) -> None:
    """Each may stay: it holds no more than it has sent, and it is answered once it is whole."""
    fetch = struct.pack(">hhih", 18, 0, 7, -1) + bytes(SMALL_UNFINISHED_BYTES)
    whole = frame(fetch)
    with crowd:
        peers = [crowd.enter_context(Attacker(victim.bootstrap)) for _ in range(500)]
        for peer in peers:
            peer.send(whole[:-1])
        victim.exercise_with_large_batch(LARGE_BATCH_BYTES)
        for peer in peers:
            peer.send(whole[-1:])
        assert all(peer.is_answered(7) for peer in peers)


def test_a_large_request_sent_in_pieces_is_answered_among_half_sent_ones(
    victim: Victim, crowd: ExitStack
) -> None:
    """The one that makes progress is not the one to be given up."""
    topic = victim.healthy.create_topic()
    half = struct.pack(">i", CLAIMED_BYTES) + bytes(4 * MIB)
    with crowd:
        slow = crowd.enter_context(Connection(victim.bootstrap))
        data = slow.encode(
            requests.produce(topic, {0: batches.batch_of_size(LARGE_BATCH_BYTES)}), 9
        )
        for number in range(20):
            crowd.enter_context(Attacker(victim.bootstrap)).send(half)
            victim.wait_until_all_is_read()
            at = number * len(data) // 20
            slow.send_bytes(data[at : (number + 1) * len(data) // 20])
            victim.wait_until_all_is_read()
        answer = slow.receive()
    assert answer.responses[0].partition_responses[0].error_code == 0


def test_closed_peers_are_forgotten_at_once(victim: Victim, crowd: ExitStack) -> None:
    """Not only when the idle limit strikes: the kernel tells us that they are gone."""
    before = victim.sockets()
    with crowd:
        for _ in range(100):
            crowd.enter_context(Attacker(victim.bootstrap)).send(b"\x00\x00")
        wait_until(lambda: victim.sockets() >= before + 100, lambda: "not accepted")
    wait_until(lambda: victim.sockets() <= before, lambda: f"{victim.sockets()} sockets")
