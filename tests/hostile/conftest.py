"""Fixtures of the hostile tests: one broker for all attacks, looked over after each of them."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.hostile.support.victim import MIB, UNFINISHED_REQUESTS_BYTES, Victim
from tests.support.broker_process import BrokerProcess
from tests.wire.support.broker import Broker

# asyncio copies what it cannot send at once, and a lost connection is garbage, with what is left
# of its buffers, until the collector comes by.
MORE_GROWTH_BYTES = {"uvloop": 0, "asyncio": 128 * MIB}
PASSED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[PASSED] = report.passed
    return report


@pytest.fixture(scope="session", params=["uvloop", "asyncio"])
def surviving(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Victim]:
    """The one process that has to survive every test of this folder; with each event loop."""
    folder = tmp_path_factory.mktemp(f"hostile-{request.param}")
    environment = dict(os.environ)
    if request.param == "asyncio":
        environment["PYTHONPATH"] = str(without_uvloop(folder / "modules"))
    limit = f"queued.max.request.bytes={UNFINISHED_REQUESTS_BYTES}"
    broker = BrokerProcess(folder / "data", "--set", limit, environment=environment)
    with broker as process, Broker(process.bootstrap) as healthy:
        yield Victim(process, healthy, MORE_GROWTH_BYTES[request.param])


def without_uvloop(folder: Path) -> Path:
    """A folder of modules that makes uvloop look as if it were not installed."""
    folder.mkdir()
    (folder / "uvloop.py").write_text("raise ImportError('hidden by a test')\n")
    return folder


@pytest.fixture
def victim(surviving: Victim, request: pytest.FixtureRequest) -> Iterator[Victim]:
    """The broker to attack; when the test is over it must be as it was.

    After a test that failed nothing more is asked: one fault is reported once.
    """
    surviving.expect_default_growth()
    yield surviving
    if request.node.stash.get(PASSED, False):
        surviving.check_unharmed()
