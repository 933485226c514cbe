"""The broker under attack: its process as the kernel sees it, and a healthy client beside it.

Owns the readings (memory, descriptors) and the proof that an ordinary client is unharmed. Must
never know what the attack is.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.support.broker_process import BrokerProcess
from tests.wire.support import batches
from tests.wire.support.broker import Broker

MIB: Final = 1024 * 1024

# What one process may have at a time by its own limits, as the fixture sets them:
# unfinished requests, one batch unpacked to look at its records, and what the allocator keeps.
UNFINISHED_REQUESTS_BYTES: Final = 32 * MIB
UNPACKED_BATCH_BYTES: Final = 64 * MIB
ALLOCATOR_SLACK_BYTES: Final = 54 * MIB
GROWTH_BYTES_MAX: Final = UNFINISHED_REQUESTS_BYTES + UNPACKED_BATCH_BYTES + ALLOCATOR_SLACK_BYTES

# Files that come and go by themselves: journal files, the checkpoint's.
FILES_SLACK: Final = 16

ESTABLISHED: Final = "01"
DEADLINE_SECONDS: Final = 30.0
LOOK_AGAIN_SECONDS: Final = 0.02


def wait_until(probe: Callable[[], bool], what: Callable[[], str]) -> None:
    """Look again and again until it is so; only a hang reaches the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not probe():
        if time.monotonic() > deadline:
            raise AssertionError(what())
        time.sleep(LOOK_AGAIN_SECONDS)


class Victim:
    """A running broker, its state before the attack, and the healthy client's connection."""

    def __init__(self, process: BrokerProcess, healthy: Broker, more_growth_bytes: int) -> None:
        self.process = process
        self.bootstrap = process.bootstrap
        self.pid = process.pid
        self.healthy = healthy
        self.topic = self.healthy.create_topic()
        self._usual_growth_bytes = GROWTH_BYTES_MAX + more_growth_bytes
        self._produced = 0
        self._log_seen = 0
        self._folder = Path("/proc") / str(self.pid)
        self.exercise_healthy_client()
        self._sockets = self.sockets()
        self._files = self.files()
        self._memory_bytes = self.memory_bytes()
        self.expect_default_growth()

    def memory_bytes(self) -> int:
        return self._status_bytes("VmRSS")

    def peak_memory_bytes(self) -> int:
        """The most memory the process had since `forget_peak`."""
        return self._status_bytes("VmHWM")

    def forget_peak(self) -> None:
        (self._folder / "clear_refs").write_text("5")

    def expect_default_growth(self) -> None:
        """Forget the past: what comes now is measured against the usual limits."""
        self._growth_bytes_max = self._usual_growth_bytes
        self.forget_peak()

    def allow_growth(self, more_bytes: int) -> None:
        """This attack aims at a limit of its own, on top of the usual ones."""
        self._growth_bytes_max = self._usual_growth_bytes + more_bytes

    def sockets(self) -> int:
        return sum(link.startswith("socket:") for link in self._descriptors())

    def files(self) -> int:
        return sum(not link.startswith("socket:") for link in self._descriptors())

    def unread_bytes(self) -> int:
        """What peers have sent and the broker has not yet taken from the kernel."""
        return sum(received for _, received in self._queues())

    def wait_until_all_is_read(self) -> None:
        wait_until(
            lambda: self.unread_bytes() == 0,
            lambda: f"the broker does not read {self.unread_bytes()} bytes",
        )

    def exercise_healthy_client(self) -> None:
        """Write one record and read it back, on the connection that is open all the time."""
        value = b"healthy-%d" % self._produced
        offset = self.healthy.produce(self.topic, batches.build([value]))
        assert offset == self._produced
        stored = batches.read(bytes(self.healthy.fetch(self.topic, offset).records))
        assert [(at, record.value) for at, record in stored] == [(offset, value)]
        self._produced += 1

    def exercise_with_large_batch(self, size_bytes: int) -> None:
        """A large healthy request must find memory too."""
        batch = batches.batch_of_size(size_bytes)
        offset = self.healthy.produce(self.topic, batch)
        assert offset == self._produced
        self._produced += 1

    def check_unharmed(self) -> None:
        """The same process runs, the client works, memory was bounded, descriptors are back."""
        assert self.process.is_running(), self.process.log[-2000:]
        assert self.process.pid == self.pid
        self.exercise_healthy_client()
        self.check_memory()
        wait_until(
            lambda: self.sockets() <= self._sockets,
            lambda: f"{self.sockets()} sockets are open, before the attack {self._sockets}",
        )
        wait_until(
            lambda: self.files() <= self._files + FILES_SLACK,
            lambda: f"{self.files()} files are open, before the attack {self._files}",
        )
        self.check_log()

    def check_memory(self) -> None:
        """The peak since the last look stays under the limits' sum."""
        growth = self.peak_memory_bytes() - self._memory_bytes
        self.forget_peak()
        assert growth <= self._growth_bytes_max, f"memory grew by {growth / MIB:.0f} MiB"

    def check_log(self) -> None:
        """No request may end in an unforeseen exception, even if the broker lives on."""
        fresh = self.process.log[self._log_seen :]
        self._log_seen += len(fresh)
        at = fresh.find("Traceback")
        assert at < 0, fresh[max(0, at - 500) : at + 3000]

    def _status_bytes(self, name: str) -> int:
        for line in (self._folder / "status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
        raise LookupError(name)

    def _queues(self) -> list[tuple[int, int]]:
        """Bytes not sent and not read of each of the broker's connections, as the kernel counts."""
        queues = []
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, _, state, counts = line.split()[:5]
            if state == ESTABLISHED and int(local.split(":")[1], 16) == self.process.port:
                sent, received = counts.split(":")
                queues.append((int(sent, 16), int(received, 16)))
        return queues

    def _descriptors(self) -> list[str]:
        links = []
        for entry in (self._folder / "fd").iterdir():
            try:
                links.append(str(entry.readlink()))
            except FileNotFoundError:  # closed between listing and looking
                continue
        return links
