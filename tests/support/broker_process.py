"""A real broker in a process of its own, started and stopped by tests.

Owns the process and its log file. Output goes to the file and never to a pipe: a pipe that nobody
reads fills up and stops the broker.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

REPOSITORY: Final = Path(__file__).resolve().parents[2]
READY_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 30.0
POLL_INTERVAL_S: Final = 0.01
LOG_TAIL_LINES: Final = 30
READY_LINE: Final = re.compile(rb"^oncelog ready\b.*\bkafka=(\S+):(\d+)", re.MULTILINE)


class BrokerProcessError(Exception):
    """The broker did not start or stop as it should; the message holds the end of its log."""


class BrokerProcess:
    """`oncelog serve` on a free port; after `kill` or `stop` it can be started again.

    The port stays the same over restarts, so that clients find the broker again.
    """

    def __init__(
        self,
        data_dir: Path,
        *flags: str,
        log_file: Path | None = None,
        python: str = sys.executable,
        environment: dict[str, str] | None = None,
        cwd: Path = REPOSITORY,
    ) -> None:
        self.data_dir = data_dir
        self.flags = flags
        self.log_file = log_file or data_dir.with_name(data_dir.name + ".log")
        self.host = "127.0.0.1"
        self.port = 0
        self._python = python
        self._environment = environment
        self._cwd = cwd
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def log(self) -> str:
        """Everything all runs of this broker have printed."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def start(self) -> Self:
        """Starts the broker and returns once it accepts connections."""
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            offset = log.tell()
            self._process = subprocess.Popen(
                self.command_line(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._cwd,
                env=self._environment,
            )
        self.host, self.port = self._wait_until_ready(offset)
        return self

    def command_line(self) -> list[str]:
        listen = f"{self.host}:{self.port}"
        data_dir = str(self.data_dir)
        serve = [self._python, "-m", "oncelog", "serve", "--listen", listen]
        return [*serve, "--data-dir", data_dir, *self.flags]

    def kill(self) -> None:
        """Ends the broker as a crash would (SIGKILL)."""
        process = self._running()
        process.kill()
        process.wait()
        self._process = None

    def stop(self) -> int:
        """Ends the broker in an orderly way (SIGTERM); returns its exit code."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise BrokerProcessError(self._with_log("the broker did not stop on SIGTERM")) from None
        finally:
            self._process = None
        return code

    def restart(self, *, kill: bool = False) -> Self:
        """Ends the broker, in an orderly way or not, and starts it on the same port and data."""
        if kill:
            self.kill()
        else:
            self.stop()
        return self.start()

    def close(self) -> None:
        """Ends the broker if it still runs; for the end of a test."""
        if self._process is not None:
            self.kill()

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise BrokerProcessError("the broker has not been started")
        return self._process

    def _wait_until_ready(self, log_offset: int) -> tuple[str, int]:
        deadline = time.monotonic() + READY_TIMEOUT_S
        process = self._running()
        while time.monotonic() < deadline:
            ended = process.poll() is not None
            found = READY_LINE.search(self._log_from(log_offset))
            if found and not ended:
                return os.fsdecode(found[1]), int(found[2])
            if ended:
                self._process = None
                raise BrokerProcessError(
                    self._with_log(f"the broker ended with {process.returncode}")
                )
            time.sleep(POLL_INTERVAL_S)
        self.kill()
        raise BrokerProcessError(self._with_log(f"the broker was not ready in {READY_TIMEOUT_S} s"))

    def _log_from(self, offset: int) -> bytes:
        with self.log_file.open("rb") as log:
            log.seek(offset)
            return log.read()

    def _with_log(self, message: str) -> str:
        tail = "\n".join(self.log.splitlines()[-LOG_TAIL_LINES:])
        return f"{message}; the end of {self.log_file}:\n{tail}"
