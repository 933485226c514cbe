"""SIGKILL, again and again, under a producer that does not notice: nothing lost, nothing twice.

A killed process keeps what the kernel has: this proves recovery from a crash of the broker, not
from a loss of power (the recorded file operations of the storage tests do that).
"""

import random
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pytest

from tests.conftest import StartBroker
from tests.killing.support.history import complaints
from tests.killing.support.load import Load, from_value
from tests.killing.support.log_reader import high_watermarks, read_all
from tests.support.broker_process import BrokerProcess
from tests.wire.support.broker import Broker

TOPIC: Final = "killed"
PARTITIONS: Final = 3
ACKNOWLEDGED_MAX: Final = 2_000
MORE_ACKNOWLEDGED_MAX: Final = 10_000
DELAY_SECONDS_MAX: Final = 0.1

# The smallest allowed: checkpoints, new journal files and new segments never stop.
HEAVY_CHECKPOINTING: Final = (
    "--set=checkpoint.interval.bytes=65536",
    "--set=checkpoint.interval.ms=100",
    "--set=journal.file.bytes=65536",
)
SMALL_SEGMENT_BYTES: Final = 32_768
SMALL_BATCH_BYTES: Final = 8_192

Ending = Callable[[BrokerProcess, random.Random], None]


def kill(broker: BrokerProcess, _: random.Random) -> None:
    broker.kill()


def kill_or_stop(broker: BrokerProcess, chance: random.Random) -> None:
    if chance.random() < 0.5:
        broker.kill()
    else:
        assert broker.stop() == 0


def kill_and_kill_again_while_it_recovers(broker: BrokerProcess, chance: random.Random) -> None:
    broker.kill()
    again = subprocess.Popen(
        broker.command_line(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    pause(chance.uniform(0.1, 1.0))
    again.kill()
    again.wait()


def pause(seconds: float) -> None:
    """The fault's own timing, not a wait for something: a kill must fall at any moment."""
    threading.Event().wait(seconds)


@dataclass(frozen=True)
class Story:
    """One kind of run."""

    rounds: int
    seed: int
    ending: Ending = kill
    flags: tuple[str, ...] = ()
    segment_bytes: int | None = None
    batch_bytes: int = 1_000_000
    codec: str = "none"
    acknowledged_max: int = ACKNOWLEDGED_MAX


STORIES: Final = {
    "kill": Story(rounds=20, seed=1),
    "kill-in-checkpoints": Story(
        rounds=10,
        seed=2,
        flags=HEAVY_CHECKPOINTING,
        segment_bytes=SMALL_SEGMENT_BYTES,
        batch_bytes=SMALL_BATCH_BYTES,
        acknowledged_max=MORE_ACKNOWLEDGED_MAX,
    ),
    "kill-with-journal-files-smaller-than-batches": Story(
        rounds=5, seed=3, flags=HEAVY_CHECKPOINTING, codec="lz4"
    ),
    "kill-or-stop": Story(
        rounds=6, seed=4, ending=kill_or_stop, segment_bytes=1_000_000, codec="zstd"
    ),
    "kill-in-recovery": Story(
        rounds=5,
        seed=5,
        ending=kill_and_kill_again_while_it_recovers,
        flags=HEAVY_CHECKPOINTING,
        segment_bytes=SMALL_SEGMENT_BYTES,
        batch_bytes=SMALL_BATCH_BYTES,
        acknowledged_max=MORE_ACKNOWLEDGED_MAX,
    ),
}


def create_topic(broker: BrokerProcess, segment_bytes: int | None) -> None:
    configs = {} if segment_bytes is None else {"segment.bytes": str(segment_bytes)}
    with Broker(broker.bootstrap) as admin:
        admin.create_topic(name=TOPIC, partitions=PARTITIONS, configs=configs)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", STORIES)
def test_what_was_acknowledged_is_there_once_and_in_order(
    start_broker: StartBroker, name: str
) -> None:
    story = STORIES[name]
    chance = random.Random(story.seed)
    broker = start_broker(*story.flags)
    create_topic(broker, story.segment_bytes)
    watermarks = [0] * PARTITIONS
    config = {"batch.size": story.batch_bytes, "compression.type": story.codec}
    with Load(broker.bootstrap, TOPIC, PARTITIONS, **config) as load:
        for _ in range(story.rounds):
            load.wait_for_acknowledged(chance.randrange(1, story.acknowledged_max))
            before = high_watermarks(broker.bootstrap, TOPIC, PARTITIONS)
            pause(chance.uniform(0, DELAY_SECONDS_MAX))
            story.ending(broker, chance)
            broker.start()
            after = high_watermarks(broker.bootstrap, TOPIC, PARTITIONS)
            assert all(old <= new for old, new in zip(watermarks, before, strict=True))
            assert all(old <= new for old, new in zip(before, after, strict=True))
            watermarks = after
        load.wait_for_acknowledged(ACKNOWLEDGED_MAX)
    check(broker, load, f"seed {story.seed}, {story.rounds} rounds")


def check(broker: BrokerProcess, load: Load, seed: str) -> None:
    assert load.fatal == []
    assert load.history.failed == {}
    stored = read_all(broker.bootstrap, TOPIC, PARTITIONS)
    logs = {
        partition: [(offset, from_value(value)) for offset, value in records]
        for partition, records in stored.items()
    }
    assert complaints(load.history, logs) == [], seed
    assert sum(map(len, logs.values())) == len(load.history.sent)
