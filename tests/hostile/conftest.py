"""Fixtures of the hostile tests: one broker for all attacks, looked over after each of them."""

from collections.abc import Generator, Iterator

import pytest

from tests.hostile.support.victim import UNFINISHED_REQUESTS_BYTES, Victim
from tests.support.broker_process import BrokerProcess
from tests.wire.support.broker import Broker

PASSED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[PASSED] = report.passed
    return report


@pytest.fixture(scope="session")
def surviving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    """The one process that has to survive every test of this folder."""
    limit = f"queued.max.request.bytes={UNFINISHED_REQUESTS_BYTES}"
    data_dir = tmp_path_factory.mktemp("hostile") / "data"
    with BrokerProcess(data_dir, "--set", limit) as process, Broker(process.bootstrap) as healthy:
        yield Victim(process, healthy)


@pytest.fixture
def victim(surviving: Victim, request: pytest.FixtureRequest) -> Iterator[Victim]:
    """The broker to attack; when the test is over it must be as it was.

    After a test that failed nothing more is asked: one fault is reported once.
    """
    surviving.expect_default_growth()
    yield surviving
    if request.node.stash.get(PASSED, False):
        surviving.check_unharmed()
