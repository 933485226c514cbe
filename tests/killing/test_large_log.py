"""A broker killed with a gigabyte of log comes back with all of it.

How long that takes is printed and not judged: a test machine is no stopwatch. `scripts/bench`
measures it.
"""

import shutil
import time
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaError, Message, Producer

from tests.conftest import StartBroker
from tests.killing.support.log_reader import high_watermarks
from tests.wire.support import batches, requests
from tests.wire.support.broker import Broker
from tests.wire.support.requests import Topic

LOG_BYTES: Final = 1_000_000_000
RECORD_BYTES: Final = 20_000
RECORDS: Final = LOG_BYTES // RECORD_BYTES
PARTITIONS: Final = 4
SAMPLES: Final = 25
FLUSH_SECONDS: Final = 100.0


def value_of(number: int) -> bytes:
    return b"%020d" % number + bytes(RECORD_BYTES - 20)


def fill(bootstrap: str, topic: str) -> None:
    """Record n goes to partition n % PARTITIONS, at offset n // PARTITIONS."""
    failures: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(str(error))

    config = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5}
    producer = Producer({**config, "queue.buffering.max.kbytes": 65_536})
    for number in range(RECORDS):
        while True:
            try:
                partition = number % PARTITIONS
                producer.produce(topic, value_of(number), partition=partition, callback=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(FLUSH_SECONDS) == 0
    assert failures == []


def check_record(broker: Broker, topic: Topic, number: int) -> None:
    partition, offset = number % PARTITIONS, number // PARTITIONS
    request = requests.fetch(requests.FetchFrom(topic, offset, partition, max_bytes=1))
    fetched = broker.call(request, 12).responses[0].partitions[0]
    assert fetched.error_code == 0
    found = dict(batches.read(bytes(fetched.records)))
    assert found[offset].value == value_of(number)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_gigabyte_is_there_after_a_kill(
    start_broker: StartBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir = tmp_path / "gigabyte"
    process = start_broker(data_dir=data_dir)
    try:
        with Broker(process.bootstrap) as broker:
            topic = broker.create_topic(partitions=PARTITIONS)
        fill(process.bootstrap, topic.name)
        process.kill()
        started = time.monotonic()
        process.start()
        with Broker(process.bootstrap) as broker:
            check_record(broker, topic, RECORDS - 1)
            took_seconds = time.monotonic() - started
            ends = high_watermarks(process.bootstrap, topic.name, PARTITIONS)
            assert ends == [RECORDS // PARTITIONS] * PARTITIONS
            for number in range(0, RECORDS, RECORDS // SAMPLES):
                check_record(broker, topic, number)
            for partition in range(PARTITIONS):
                check_record(broker, topic, RECORDS - PARTITIONS + partition)
                end = broker.produce(topic, batches.build([b"next"]), partition=partition)
                assert end == RECORDS // PARTITIONS
    finally:
        process.close()
        shutil.rmtree(data_dir, ignore_errors=True)
    with capsys.disabled():
        print(f"\nkilled with 1 GB of log: the last record read {took_seconds:.2f} s after start")  # noqa: T201
