"""Works about a broker's life: start, idle memory, restart after kill -9.

Must never know: which broker it is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from scripts.benchmark import topic
from scripts.benchmark.frames import api_versions_request, fetch_request, read_fetch_answer
from scripts.benchmark.measure import Measures
from scripts.benchmark.process_usage import resident_bytes
from scripts.benchmark.produce_work import fill
from scripts.benchmark.raw_connection import RawConnection
from scripts.benchmark.system import System, wait_first_answer
from scripts.benchmark.work import Scale

SETTLE_S = 2.0
RECORD_BYTES = 1_000
FILL_TIME_LIMIT_S = 120.0
FETCH_WAIT_MS = 100
READ_TIMEOUT_S = 120.0
READ_POLL_S = 0.005


@dataclass(frozen=True)
class IdleNodeWork:
    """A fresh broker: how soon it answers, what it holds, what an idle connection adds."""

    scale: Scale

    @property
    def name(self) -> str:
        """The one name."""
        return "idle-node"

    def run(self, system: System, directory: Path) -> Measures:
        """Formatting is not counted: it is done once in a broker's life."""
        node = system.make(directory)
        node.prepare()
        begin = time.perf_counter()
        try:
            node.start(wait=False)
            wait_first_answer(node)
            start_s = time.perf_counter() - begin
            time.sleep(SETTLE_S)
            idle = resident_bytes(node.pid)
            added = self._connected_bytes(node.bootstrap, node.pid) - idle
        finally:
            node.stop()
        return {
            "start_s": start_s,
            "idle_mb": idle / 1e6,
            "connection_kb": max(added, 0) / self.scale.idle_connections / 1e3,
        }

    def _connected_bytes(self, bootstrap: str, pid: int) -> int:
        """Memory while many connections, each of which has asked once, do nothing."""
        connections: list[RawConnection] = []
        try:
            for _ in range(self.scale.idle_connections):
                connection = RawConnection(bootstrap)
                connections.append(connection)
                connection.ask(api_versions_request())
            time.sleep(SETTLE_S)
            return resident_bytes(pid)
        finally:
            for connection in connections:
                connection.close()


@dataclass(frozen=True)
class RestartWork:
    """1 GB in one partition, kill -9, start: until the last record can be read."""

    scale: Scale

    @property
    def name(self) -> str:
        """The one name."""
        return "restart-after-kill"

    def run(self, system: System, directory: Path) -> Measures:
        """The clock runs from the second start of the process."""
        node = system.make(directory)
        name = "bench-restart"
        try:
            node.start()
            topic.make(node.bootstrap, name, 1)
            fill(node.bootstrap, name, self.scale.restart_records, RECORD_BYTES, FILL_TIME_LIMIT_S)
            node.kill()
            begin = time.perf_counter()
            node.start(wait=False)
            wait_first_answer(node)
            self._wait_readable(node.bootstrap, name, self.scale.restart_records - 1)
            return {"restart_s": time.perf_counter() - begin}
        finally:
            node.kill()

    def _wait_readable(self, bootstrap: str, name: str, offset: int) -> None:
        frame = fetch_request(name, 0, offset, FETCH_WAIT_MS)
        deadline = time.monotonic() + READ_TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                with RawConnection(bootstrap) as connection:
                    answer = read_fetch_answer(name, connection.ask(frame))
            except OSError:
                answer = None
            if answer is not None and answer.error_code == 0 and answer.records_bytes:
                return
            time.sleep(READ_POLL_S)
        raise TimeoutError(f"offset {offset} cannot be read")
