"""Every client sends a hundred thousand records in every codec it has, and reads the same back."""

import pytest

from tests.clients.support.client import CODECS, Client
from tests.clients.support.clients import clients_and_codecs
from tests.clients.support.records import difference, spread
from tests.support.broker_process import BrokerProcess
from tests.wire.support import batches
from tests.wire.support.broker import Broker
from tests.wire.support.requests import Topic

RECORDS = 100_000
PARTITIONS = 2

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize(("client", "codec"), clients_and_codecs())
def test_what_is_sent_is_read_back(
    shared_broker: BrokerProcess, admin: Broker, client: Client, codec: str
) -> None:
    """Bytes, nulls, headers and the order in each partition."""
    partitions = 1 if client.name == "java" else PARTITIONS
    topic = admin.create_topic(partitions=partitions)
    sent = spread(client.records(RECORDS), partitions)
    counts = [len(records) for records in sent]
    client.produce(shared_broker.bootstrap, topic.name, codec, sent)
    assert [admin.latest(topic, index) for index in range(partitions)] == counts
    assert codecs_in(admin, topic) == {codec}
    found = client.consume(shared_broker.bootstrap, topic.name, counts)
    assert difference(sent, found) is None


def codecs_in(admin: Broker, topic: Topic) -> set[str]:
    """How the stored batches are compressed: a client that quietly does not would prove nothing."""
    found = batches.split(bytes(admin.fetch(topic).records))
    return {CODECS[batches.header_of(one)["attributes"] & batches.CODEC_BITS] for one in found}
