"""Runs oncelog's command line and gives back what it said.

It runs in this process, with streams of its own, because most of a short process is its start; what
needs a real process is in test_serve.py and test_pipes.py. oncelog's own environment variables are
taken away first.
"""

import io
import json
import os
import sys
from dataclasses import dataclass
from typing import Any
from unittest import mock

from oncelog.__main__ import main


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
    out, err = io.BytesIO(), io.BytesIO()
    with (
        mock.patch.dict(os.environ, {**kept, **(environment or {})}, clear=True),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
        mock.patch.object(sys, "stdout", io.TextIOWrapper(out, "utf-8", write_through=True)),
        mock.patch.object(sys, "stderr", io.TextIOWrapper(err, "utf-8", write_through=True)),
    ):
        exit_code = main(arguments)
        return Said(exit_code, out.getvalue(), err.getvalue())


def succeed(*arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None) -> Said:
    """As `oncelog`, and it must have worked without a word on stderr."""
    said = oncelog(*arguments, stdin=stdin, environment=environment)
    assert (said.exit_code, said.err) == (0, ""), said
    return said
