"""The systems compared, and how each is started: Apache Kafka twice, oncelog once.

Must never know: works, figures.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from scripts.apache_kafka import ApacheKafka, answers_api_versions, free_port
from scripts.benchmark.targets import KAFKA, KAFKA_FSYNC, ONCELOG

ROOT = Path(__file__).resolve().parents[2]
READY_TIMEOUT_S = 120.0
READY_POLL_S = 0.002
STOP_TIMEOUT_S = 30.0
LOG_TAIL_LINES = 20


class Node(Protocol):
    """A broker process that one can start, stop, kill, and start again on the same data."""

    host: str
    port: int

    @property
    def bootstrap(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def prepare(self) -> None: ...

    def start(self, wait: bool = True) -> object: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...


class System(NamedTuple):
    """One column of the comparison."""

    key: str
    title: str
    make: Callable[[Path], Node]


class OncelogNode:
    """`oncelog serve` from this checkout, in its default durable mode."""

    def __init__(self, data: Path) -> None:
        self.host = "127.0.0.1"
        self.port = free_port(self.host)
        self._data = data
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """host:port for a client."""
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The broker's process id."""
        if self._process is None:
            raise RuntimeError("oncelog is not running")
        return self._process.pid

    def prepare(self) -> None:
        """Nothing to format."""
        self._data.mkdir(parents=True, exist_ok=True)

    def start(self, wait: bool = True) -> object:
        """Start the broker; its output goes to a file beside the data."""
        self.prepare()
        command = [sys.executable, "-m", "oncelog", "serve", "--listen", self.bootstrap]
        command += ["--data-dir", str(self._data / "data")]
        with (self._data / "oncelog.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if wait:
            wait_first_answer(self)
        return self

    def stop(self) -> None:
        """SIGTERM, then SIGKILL when it takes too long."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """SIGKILL: what a crash leaves behind."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._process = None

    def has_ended(self) -> bool:
        """Whether the process is gone without having been asked."""
        return self._process is None or self._process.poll() is not None

    def log_tail(self) -> str:
        """The end of what the broker printed."""
        lines = (self._data / "oncelog.log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES:])


def wait_first_answer(node: Node) -> None:
    """Ask ApiVersions again and again until the node answers; the same for every system."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not answers_api_versions(node.host, node.port):
        if isinstance(node, OncelogNode) and node.has_ended():
            raise RuntimeError(f"oncelog did not start:\n{node.log_tail()}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing answers at {node.bootstrap}")
        time.sleep(READY_POLL_S)


SYSTEMS: tuple[System, ...] = (
    System(KAFKA, "Kafka, as it comes", ApacheKafka),
    System(KAFKA_FSYNC, "Kafka, fsync", lambda data: ApacheKafka(data, fsync=True)),
    System(ONCELOG, "oncelog, durable", OncelogNode),
)
