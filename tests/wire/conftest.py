"""Fixtures of the wire tests: which broker is under test, connections to it, fresh topics."""

import os
from collections.abc import Iterator

import pytest

from tests.support.broker_process import BrokerProcess
from tests.wire.support.broker import Broker
from tests.wire.support.connection import Connection

FOREIGN_BOOTSTRAP = "ONCELOG_TEST_BOOTSTRAP"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "oncelog_only: a promise of oncelog that Kafka does not make"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if FOREIGN_BOOTSTRAP not in os.environ:
        return
    skip = pytest.mark.skip(reason=f"{FOREIGN_BOOTSTRAP} is set: a foreign broker is under test")
    for item in items:
        if item.get_closest_marker("oncelog_only") is not None:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of the broker under test: a foreign one if named, else an oncelog of our own."""
    foreign = os.environ.get(FOREIGN_BOOTSTRAP)
    if foreign is not None:
        yield foreign
        return
    with BrokerProcess(tmp_path_factory.mktemp("wire") / "data") as process:
        yield process.bootstrap


@pytest.fixture(scope="session")
def broker(bootstrap: str) -> Iterator[Broker]:
    """Helpers over one shared connection: topics, produce, fetch."""
    with Broker(bootstrap) as helper:
        yield helper


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    """A connection of the test's own."""
    with Connection(bootstrap) as fresh:
        yield fresh
