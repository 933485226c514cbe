"""The error every command ends with: what went wrong, why, and what to do about it, on one line.

Owns the shape of that line and the exit codes. Never knows which command it serves.
"""

from typing import Final

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130


class CommandError(Exception):
    """Ends a command. `what` failed, `why` it did, how to `fix` it; the latter two may be empty."""

    def __init__(
        self, what: str, why: str = "", fix: str = "", exit_code: int = EXIT_FAILED
    ) -> None:
        super().__init__(what)
        self.what = _one_line(what)
        self.why = _one_line(why)
        self.fix = _one_line(fix)
        self.exit_code = exit_code

    def __str__(self) -> str:
        text = f"{self.what}: {self.why}" if self.why else self.what
        return f"{text}; {self.fix}" if self.fix else text

    def as_json(self) -> dict[str, str]:
        return {"error": self.what, "why": self.why, "fix": self.fix}


def _one_line(text: str) -> str:
    return " ".join(text.split())
