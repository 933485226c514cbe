"""What an oncelog of our own still knows after it ended, in an orderly way or by kill -9."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker_process import BrokerProcess
from tests.wire.support import batches, configs, messages, requests
from tests.wire.support.broker import Broker
from tests.wire.support.error_codes import (
    INVALID_PRODUCER_EPOCH,
    INVALID_RECORD,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
)
from tests.wire.support.requests import Topic

pytestmark = pytest.mark.oncelog_only

WINDOW_BATCHES = 5
PRODUCER_ID = 12_345


@pytest.fixture
def process(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "data") as running:
        yield running


@pytest.fixture(params=["stop", "kill"])
def kill(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "kill")


def batch(sequence: int, *, epoch: int = 0, value: bytes = b"v") -> bytes:
    return batches.build(
        [value], producer_id=PRODUCER_ID, producer_epoch=epoch, base_sequence=sequence
    )


def test_acknowledged_records_and_topics_are_there(process: BrokerProcess, kill: bool) -> None:
    with Broker(process.bootstrap) as before:
        topic = before.create_topic(partitions=3, configs={"retention.ms": "-1"})
        for partition in range(3):
            for index in range(10):
                before.produce(topic, batches.build([b"%d" % index]), partition=partition)
        stored = [before.stored(topic, partition) for partition in range(3)]
    process.restart(kill=kill)
    with Broker(process.bootstrap) as after:
        assert after.describe(topic.name).topic_id == topic.id
        assert [after.stored(topic, partition) for partition in range(3)] == stored
        found = after.call(configs.describe(topic.name, keys=["retention.ms"]), 4)
        assert found.results[0].configs[0].value == "-1"
        assert after.produce(topic, batches.build([b"next"])) == 10


def test_the_whole_window_of_duplicates_is_remembered(process: BrokerProcess, kill: bool) -> None:
    with Broker(process.bootstrap) as before:
        topic = before.create_topic()
        offsets = [before.produce(topic, batch(index)) for index in range(WINDOW_BATCHES + 1)]
    process.restart(kill=kill)
    with Broker(process.bootstrap) as after:
        for index in range(1, WINDOW_BATCHES + 1):
            assert after.produce(topic, batch(index)) == offsets[index]
        assert after.try_produce(topic, batch(0)).error_code == OUT_OF_ORDER_SEQUENCE_NUMBER
        assert after.latest(topic) == WINDOW_BATCHES + 1
        assert after.produce(topic, batch(WINDOW_BATCHES + 1)) == WINDOW_BATCHES + 1


def test_conflicting_duplicates_are_still_found(process: BrokerProcess, kill: bool) -> None:
    with Broker(process.bootstrap) as before:
        topic = before.create_topic()
        for index in range(WINDOW_BATCHES):
            before.produce(topic, batch(index))
    process.restart(kill=kill)
    with Broker(process.bootstrap) as after:
        for index in range(WINDOW_BATCHES):
            answer = after.try_produce(topic, batch(index, value=b"other"))
            assert answer.error_code == INVALID_RECORD
            assert "conflicting_duplicate" in answer.error_message


def test_producer_epochs_are_remembered(process: BrokerProcess, kill: bool) -> None:
    with Broker(process.bootstrap) as before:
        topic = before.create_topic()
        before.produce(topic, batch(0, epoch=3))
    process.restart(kill=kill)
    with Broker(process.bootstrap) as after:
        assert after.try_produce(topic, batch(1, epoch=2)).error_code == INVALID_PRODUCER_EPOCH
        assert after.produce(topic, batch(1, epoch=3)) == 1


def test_the_window_survives_several_restarts(process: BrokerProcess, kill: bool) -> None:
    topic = Topic("")
    for round_number in range(3):
        with Broker(process.bootstrap) as broker:
            topic = topic if topic.name else broker.create_topic()
            assert broker.produce(topic, batch(round_number)) == round_number
        process.restart(kill=kill)
    with Broker(process.bootstrap) as broker:
        assert [broker.produce(topic, batch(index)) for index in range(3)] == [0, 1, 2]


def test_no_producer_id_is_given_twice(process: BrokerProcess, kill: bool) -> None:
    request = messages.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    ids = []
    for _ in range(3):
        with Broker(process.bootstrap) as broker:
            ids += [broker.call(request, 4).producer_id for _ in range(5)]
        process.restart(kill=kill)
    assert len(set(ids)) == 15


def test_deleted_records_and_topics_stay_deleted(process: BrokerProcess, kill: bool) -> None:
    with Broker(process.bootstrap) as before:
        shortened, gone = before.create_topic(), before.create_topic()
        before.produce(shortened, batches.build([b"a", b"b", b"c"]))
        before.delete_records(shortened, {0: 2})
        state = messages.DeleteTopicsRequest.DeleteTopicState
        target = state(name=gone.name, topic_id=requests.NO_ID)
        before.call(messages.DeleteTopicsRequest(topics=[target], timeout_ms=1000), 6)
    process.restart(kill=kill)
    with Broker(process.bootstrap) as after:
        assert (after.earliest(shortened), after.latest(shortened)) == (2, 3)
        assert not after.exists(gone.name)


def test_the_leader_epoch_never_goes_back(process: BrokerProcess, kill: bool) -> None:
    with Broker(process.bootstrap) as before:
        topic = before.create_topic()
        epoch = before.leader_epoch(topic)
    process.restart(kill=kill)
    with Broker(process.bootstrap) as after:
        assert after.leader_epoch(topic) >= epoch


def test_the_cluster_id_and_the_node_id_stay(process: BrokerProcess, kill: bool) -> None:
    with Broker(process.bootstrap) as before:
        first = before.call(requests.metadata(), 12)
    process.restart(kill=kill)
    with Broker(process.bootstrap) as after:
        second = after.call(requests.metadata(), 12)
    assert second.cluster_id == first.cluster_id
    assert second.controller_id == first.controller_id
