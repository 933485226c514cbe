"""Peers that ask and do not read: answers must wait at the peer's cost, not in our memory."""

import struct
from contextlib import ExitStack

import pytest

from tests.hostile.support.attacker import Attacker, api_versions
from tests.hostile.support.victim import MIB, Victim, wait_until
from tests.wire.support import batches, requests
from tests.wire.support.connection import Connection
from tests.wire.support.requests import Topic

PIPELINED_REQUESTS = 20_000
PIPELINED_PRODUCES = 5_000
PIPELINED_FETCHES = 500
FETCHING_PEERS = 50
LOG_BATCHES = 20
LOG_BATCH_BYTES = 1_000_000
# The broker's own limit; above it an answer still holds one batch, or nobody would get on.
UNSENT_BYTES_MAX = 128 * MIB
# Long enough for a broker that still takes requests to take them, on a busy machine too.
PATIENCE_SECONDS = 1.0
SMALL_WINDOW_BYTES = 4096


@pytest.fixture
def large_log(victim: Victim) -> Topic:
    """A topic of which one Fetch can take 20 MB."""
    topic = victim.healthy.create_topic()
    batch = batches.batch_of_size(LOG_BATCH_BYTES)
    for _ in range(LOG_BATCHES):
        victim.healthy.produce(topic, batch)
    return topic


def correlation_ids(attacker: Attacker, count: int) -> list[int]:
    found: list[int] = []
    for _ in range(count):
        answer = attacker.receive_frame()
        assert answer is not None, f"hung up after {len(found)} answers"
        found.append(struct.unpack_from(">i", answer)[0])
    return found


def test_unread_answers_to_api_versions_are_bounded_and_come_in_order(victim: Victim) -> None:
    wanted = b"".join(api_versions(number) for number in range(PIPELINED_REQUESTS))
    with Attacker(victim.bootstrap, receive_buffer_bytes=SMALL_WINDOW_BYTES) as attacker:
        sent = attacker.send_until_blocked(wanted, PATIENCE_SECONDS)
        victim.exercise_healthy_client()
        victim.check_memory()
        whole = sent // len(api_versions())
        assert correlation_ids(attacker, whole) == list(range(whole))
        attacker.send(wanted[sent:])
        rest = correlation_ids(attacker, PIPELINED_REQUESTS - whole)
        assert rest == list(range(whole, PIPELINED_REQUESTS))


def test_unread_answers_to_metadata_are_bounded(victim: Victim) -> None:
    """A request of a few bytes has an answer of thousands: all topics, a hundred partitions."""
    victim.healthy.create_topic(partitions=100)
    with Connection(victim.bootstrap) as encoder:
        one = encoder.encode(requests.metadata(every_topic=True), 9, correlation_id=1)
    with Attacker(victim.bootstrap, receive_buffer_bytes=SMALL_WINDOW_BYTES) as attacker:
        attacker.send_until_blocked(one * PIPELINED_REQUESTS, PATIENCE_SECONDS)
        victim.exercise_healthy_client()
        victim.check_memory()
        assert correlation_ids(attacker, 10) == [1] * 10


def test_unread_answers_to_produce_are_bounded_and_complete(victim: Victim) -> None:
    topic = victim.healthy.create_topic()
    with Connection(victim.bootstrap) as encoder:
        produce = requests.produce(topic, {0: batches.build([b"x"])})
        one = encoder.encode(produce, 9, correlation_id=1)
    with Attacker(victim.bootstrap, receive_buffer_bytes=SMALL_WINDOW_BYTES) as attacker:
        sent = attacker.send_until_blocked(one * PIPELINED_PRODUCES, PATIENCE_SECONDS)
        victim.exercise_healthy_client()
        victim.check_memory()
        whole = sent // len(one)
        assert correlation_ids(attacker, whole) == [1] * whole
    assert victim.healthy.latest(topic) >= whole


def test_produce_without_acknowledgement_is_bounded(victim: Victim) -> None:
    topic = victim.healthy.create_topic()
    with Connection(victim.bootstrap) as encoder:
        produce = requests.produce(topic, {0: batches.build([bytes(10_000)])}, acks=0)
        one = encoder.encode(produce, 9)
    with Attacker(victim.bootstrap) as attacker:
        assert attacker.send(one * PIPELINED_PRODUCES + api_versions())
        assert attacker.is_answered()
    wait_until(
        lambda: victim.healthy.latest(topic) == PIPELINED_PRODUCES,
        lambda: f"{victim.healthy.latest(topic)} of {PIPELINED_PRODUCES} records are there",
    )


def test_pipelined_large_fetches_that_nobody_reads_are_bounded(
    victim: Victim, large_log: Topic
) -> None:
    with Connection(victim.bootstrap) as encoder:
        fetch = requests.fetch(requests.FetchFrom(large_log))
        one = encoder.encode(fetch, 12, correlation_id=1)
    with Attacker(victim.bootstrap, receive_buffer_bytes=SMALL_WINDOW_BYTES) as attacker:
        attacker.send_until_blocked(one * PIPELINED_FETCHES, PATIENCE_SECONDS)
        victim.exercise_healthy_client()
        victim.check_memory()


def test_large_fetches_of_many_peers_that_nobody_reads_are_bounded(
    victim: Victim, large_log: Topic
) -> None:
    """Fifty peers ask for 20 MB each: a gigabyte if every answer is kept whole."""
    with Connection(victim.bootstrap) as encoder:
        fetch = requests.fetch(requests.FetchFrom(large_log))
        one = encoder.encode(fetch, 12, correlation_id=1)
    victim.allow_growth(UNSENT_BYTES_MAX + FETCHING_PEERS * LOG_BATCH_BYTES)
    with ExitStack() as crowd:
        for _ in range(FETCHING_PEERS):
            peer = Attacker(victim.bootstrap, receive_buffer_bytes=SMALL_WINDOW_BYTES)
            crowd.enter_context(peer).send(one)
        victim.wait_until_all_is_read()
        victim.exercise_healthy_client()
        victim.check_memory()


def test_a_large_fetch_read_slowly_arrives_whole(victim: Victim, large_log: Topic) -> None:
    stored = victim.healthy.stored(large_log)
    assert len(stored) == LOG_BATCHES * LOG_BATCH_BYTES
    with Connection(victim.bootstrap) as encoder:
        one = encoder.encode(requests.fetch(requests.FetchFrom(large_log)), 12, correlation_id=1)
    with Attacker(victim.bootstrap, receive_buffer_bytes=SMALL_WINDOW_BYTES) as attacker:
        attacker.send(one * 3)
        for _ in range(3):
            answer = attacker.receive_frame()
            assert answer is not None
            assert stored in answer


@pytest.mark.parametrize("times", [100_000])
def test_a_fetch_that_names_a_partition_many_times_is_bounded(
    victim: Victim, large_log: Topic, times: int
) -> None:
    asked = [requests.FetchFrom(large_log, max_bytes=MIB)] * times
    with Connection(victim.bootstrap) as greedy:
        greedy.send(requests.fetch(*asked, max_bytes=MIB), 12)
        answer = greedy.receive_frame()
    assert len(answer) < 64 * MIB
