"""Runs oncelog's command line in a process of its own and gives back what it said.

Owns the process. The environment is cleared of oncelog's own variables first.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Final

from tests.support.broker_process import REPOSITORY

TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Said:
    """Exit code and both outputs of one command."""

    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def err(self) -> str:
        return self.stderr.decode()

    @property
    def document(self) -> Any:
        """Stdout as one JSON document."""
        return json.loads(self.stdout)

    @property
    def documents(self) -> list[Any]:
        """Stdout as JSON lines."""
        return [json.loads(line) for line in self.stdout.splitlines()]


def oncelog(*arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None) -> Said:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ONCELOG_")}
    ended = subprocess.run(
        [sys.executable, "-m", "oncelog", *arguments],
        input=stdin,
        capture_output=True,
        cwd=REPOSITORY,
        env={**kept, **(environment or {})},
        timeout=TIMEOUT_S,
        check=False,
    )
    return Said(ended.returncode, ended.stdout, ended.stderr)


def succeed(*arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None) -> Said:
    """As `oncelog`, and it must have worked without a word on stderr."""
    said = oncelog(*arguments, stdin=stdin, environment=environment)
    assert (said.exit_code, said.err) == (0, ""), said
    return said
