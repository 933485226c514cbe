"""The broker under test of all API pages: in this process, in memory."""

from collections.abc import Iterator

import pytest

from tests.broker.support import InProcessBroker


@pytest.fixture
def broker() -> Iterator[InProcessBroker]:
    """A broker without topics and with the default settings."""
    with InProcessBroker() as fresh:
        yield fresh
