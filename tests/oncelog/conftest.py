"""Fixtures of the command line's tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker_process import BrokerProcess

# Names a foreign broker, to see that the commands are right where ours is not ready.
FOREIGN_BOOTSTRAP = "ONCELOG_TEST_BOOTSTRAP"


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker; every test uses topics of its own."""
    foreign = os.environ.get(FOREIGN_BOOTSTRAP)
    if foreign is not None:
        yield foreign
        return
    data_dir: Path = tmp_path_factory.mktemp("command-line") / "data"
    with BrokerProcess(data_dir) as broker:
        yield broker.bootstrap


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name no other test uses."""
    return f"t-{os.urandom(4).hex()}-{request.node.name[:40].replace('[', '-').replace(']', '')}"
