"""Fixtures for all tests, and the rule what is skipped when a program is missing."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.broker_process import BrokerProcess

# scripts/test installs these; a bare pytest skips what it cannot run.
PROGRAMS_BY_MARKER: Final = {"java": ("java", "mvn"), "kcat": ("kcat",)}

StartBroker = Callable[..., BrokerProcess]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for marker, programs in PROGRAMS_BY_MARKER.items():
        missing = [program for program in programs if shutil.which(program) is None]
        if missing:
            skip = pytest.mark.skip(reason=f"not installed: {', '.join(missing)}")
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(skip)


@pytest.fixture
def start_broker(tmp_path: Path) -> Iterator[StartBroker]:
    """Starts brokers with the given flags; each has its own data directory unless one is given."""
    started: list[BrokerProcess] = []

    def start(*flags: str, data_dir: Path | None = None) -> BrokerProcess:
        chosen = data_dir or tmp_path / f"broker-{len(started)}"
        broker = BrokerProcess(chosen, *flags)
        started.append(broker)
        return broker.start()

    yield start
    for broker in started:
        broker.close()


@pytest.fixture
def broker(start_broker: StartBroker) -> BrokerProcess:
    """A running broker with an empty data directory."""
    return start_broker()


@pytest.fixture(scope="module")
def shared_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for all tests of a module; for tests that use topics of their own."""
    with BrokerProcess(tmp_path_factory.mktemp("shared") / "data") as broker:
        yield broker
