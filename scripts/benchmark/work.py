"""What a work is: a name, and a run that gives measures.

Must never know: any work in particular, or how results are shown.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scripts.benchmark.measure import Measures
from scripts.benchmark.process_usage import cpu_seconds
from scripts.benchmark.system import System


class WorkError(Exception):
    """The broker's answer was wrong, so that its speed says nothing."""


@dataclass(frozen=True)
class Endpoint:
    """A running broker as a client process sees it."""

    bootstrap: str
    pid: int


@dataclass(frozen=True)
class Scale:
    """How much of everything: one full set and one quick set."""

    produce_records: dict[int, int]
    time_limit_s: float
    latency_requests: int
    request_seconds: float
    consume_records: int
    restart_records: int
    idle_connections: int


FULL = Scale(
    produce_records={100: 4_000_000, 1_000: 800_000, 10_000: 80_000},
    time_limit_s=20.0,
    latency_requests=4_000,
    request_seconds=4.0,
    consume_records=1_000_000,
    restart_records=1_000_000,
    idle_connections=1_000,
)
QUICK = Scale(
    produce_records={100: 300_000, 1_000: 60_000, 10_000: 6_000},
    time_limit_s=5.0,
    latency_requests=200,
    request_seconds=0.5,
    consume_records=100_000,
    restart_records=100_000,
    idle_connections=200,
)


class ClientWork(Protocol):
    """A work against a running broker; it runs in a client process of its own."""

    @property
    def name(self) -> str:
        """A short name for tables, --only and targets."""
        ...

    def run(self, endpoint: Endpoint) -> Measures:
        """Do the work once."""
        ...


class NodeWork(Protocol):
    """A work that starts and ends brokers itself."""

    @property
    def name(self) -> str:
        """A short name for tables, --only and targets."""
        ...

    def run(self, system: System, directory: Path) -> Measures:
        """Do the work once, with an empty data directory."""
        ...


class Window:
    """The time and the broker's CPU between two moments."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._cpu_s = cpu_seconds(pid)
        self._begin = time.perf_counter()
        self.seconds = 0.0
        self.cpu_s = 0.0

    def close(self) -> None:
        """The second moment."""
        self.seconds = time.perf_counter() - self._begin
        self.cpu_s = cpu_seconds(self._pid) - self._cpu_s

    def record_measures(self, records: int) -> Measures:
        """Rate and CPU for so many records."""
        return {
            "records_per_s": records / self.seconds,
            "cpu_s_per_million": self.cpu_s / records * 1e6,
        }

    def request_measures(self, requests: int) -> Measures:
        """Rate and CPU for so many requests."""
        return {
            "requests_per_s": requests / self.seconds,
            "cpu_us_per_request": self.cpu_s / requests * 1e6,
        }
