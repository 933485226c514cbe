"""A broker killed between taking batches and answering: sending them again must be safe.

The client cannot know which batches were stored. It sends its last five again, as every idempotent
producer does, and each must end up in the log once, at one offset.
"""

import random
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.conftest import StartBroker
from tests.support.broker_process import BrokerProcess
from tests.wire.support import batches, requests
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection, ConnectionClosedError
from tests.wire.support.error_codes import INVALID_RECORD
from tests.wire.support.requests import Topic

WINDOW_BATCHES: Final = 5
PRODUCERS: Final = 4
ROUNDS: Final = 8
SEED: Final = 11
PRODUCE_VERSION: Final = 9

FLAGS: Final = {
    "default": (),
    "heavy-checkpointing": (
        "--set=checkpoint.interval.bytes=65536",
        "--set=checkpoint.interval.ms=100",
        "--set=journal.file.bytes=65536",
    ),
}


@dataclass
class ByHand:
    """An idempotent producer that knows what it sent and what it was told."""

    number: int
    next_sequence: int = 0
    offsets: dict[int, int] = field(default_factory=dict)
    """Sequence to the offset that was answered."""

    def batch(self, sequence: int, *, other_bytes: bool = False) -> bytes:
        value = b"%d/%d" % (self.number, sequence) + b"!" * other_bytes
        return batches.build(
            [value + bytes(3000)],
            producer_id=5000 + self.number,
            producer_epoch=0,
            base_sequence=sequence,
        )

    def window(self) -> range:
        """The sequences a client may still have to send again."""
        return range(max(0, self.next_sequence - WINDOW_BATCHES), self.next_sequence)

    def send_and_leave(
        self, bootstrap: str, topic: Topic, count: int, answers: int
    ) -> list[Connection]:
        """Send new batches in one go, read only some answers; the connection stays open."""
        connection = Connection(bootstrap)
        fresh = range(self.next_sequence, self.next_sequence + count)
        self.next_sequence += count
        for sequence in fresh:
            request = requests.produce(topic, {0: self.batch(sequence)})
            connection.send(request, PRODUCE_VERSION)
        for sequence in fresh[:answers]:
            self._note(sequence, connection.receive())
        return [connection]

    def send_again(self, broker: Broker, topic: Topic) -> None:
        """The window once more, in order, as a client does after a broken connection."""
        for sequence in self.window():
            request = requests.produce(topic, {0: self.batch(sequence)})
            self._note(sequence, broker.call(request, PRODUCE_VERSION))

    def _note(self, sequence: int, answer: object) -> None:
        produced = answer.responses[0].partition_responses[0]  # type: ignore[attr-defined]
        assert produced.error_code == 0, f"{self.number}/{sequence}: {produced}"
        known = self.offsets.setdefault(sequence, produced.base_offset)
        assert produced.base_offset == known, f"{self.number}/{sequence} moved"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_batches_sent_again_after_a_kill_are_stored_once(
    start_broker: StartBroker, flags: tuple[str, ...]
) -> None:
    chance = random.Random(SEED)
    process = start_broker(*flags)
    with Broker(process.bootstrap) as broker:
        topic = broker.create_topic(configs={"segment.bytes": "32768"})
    producers = [ByHand(number) for number in range(PRODUCERS)]
    for _ in range(ROUNDS):
        kill_in_the_middle(process, topic, producers, chance)
        with Broker(process.bootstrap) as broker:
            for producer in producers:
                producer.send_again(broker, topic)
    with Broker(process.bootstrap) as broker:
        check_log(broker, topic, producers)
        check_conflicts(broker, topic, producers)


def kill_in_the_middle(
    process: BrokerProcess, topic: Topic, producers: list[ByHand], chance: random.Random
) -> None:
    opened: list[Connection] = []
    for producer in producers:
        count = chance.randint(1, WINDOW_BATCHES)
        answers = chance.randint(0, count)
        opened += producer.send_and_leave(process.bootstrap, topic, count, answers)
    process.kill()
    for connection in opened:
        connection.close()
    process.start()


def check_log(broker: Broker, topic: Topic, producers: list[ByHand]) -> None:
    """Every batch once, at the offset that was answered, each producer's in order."""
    stored = [
        (offset, bytes(record.value or b"").rstrip(b"\0"))
        for offset, record in batches.read(read_whole(broker, topic))
    ]
    wanted = {
        offset: b"%d/%d" % (producer.number, sequence)
        for producer in producers
        for sequence, offset in producer.offsets.items()
    }
    assert sum(producer.next_sequence for producer in producers) == len(wanted)
    assert stored == sorted(wanted.items())
    for producer in producers:
        in_order = [producer.offsets[sequence] for sequence in range(producer.next_sequence)]
        assert in_order == sorted(in_order)


def read_whole(broker: Broker, topic: Topic) -> bytes:
    """One Fetch ends where a segment ends."""
    end = broker.latest(topic)
    data = b""
    while (at := batches.offsets(data)[-1][1] + 1 if data else 0) < end:
        data += bytes(broker.fetch(topic, at).records)
    return data


def check_conflicts(broker: Broker, topic: Topic, producers: list[ByHand]) -> None:
    """The same sequence with other bytes is a client's mistake that must not pass silently."""
    end = broker.latest(topic)
    for producer in producers:
        for sequence in producer.window():
            answer = broker.try_produce(topic, producer.batch(sequence, other_bytes=True))
            assert answer.error_code == INVALID_RECORD
            assert "conflicting_duplicate" in answer.error_message
    assert broker.latest(topic) == end


def test_an_answer_lost_in_a_kill_is_not_given_by_another_process(
    start_broker: StartBroker,
) -> None:
    """The connection ends with the process; nobody answers on it any more."""
    process = start_broker()
    with Broker(process.bootstrap) as broker, Connection(process.bootstrap) as connection:
        topic = broker.create_topic()
        connection.send(requests.fetch(requests.FetchFrom(topic), max_wait_ms=60_000), 12)
        process.restart(kill=True)
        with pytest.raises(ConnectionClosedError):
            connection.receive()
