"""Fixtures of the tests with real clients: one broker for a module, and who the clients are."""

from collections.abc import Iterator

import pytest

from tests.support.broker_process import BrokerProcess
from tests.wire.support.broker import Broker


@pytest.fixture(scope="module")
def admin(shared_broker: BrokerProcess) -> Iterator[Broker]:
    """Makes topics and looks at offsets, beside the client under test."""
    with Broker(shared_broker.bootstrap) as helper:
        yield helper
