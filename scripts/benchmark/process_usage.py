"""What a process and its children have used: CPU time and memory, read from /proc.

Must never know: which process it is or why one asks.
"""

from __future__ import annotations

import os
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Positions in /proc/PID/stat counted after the command's closing parenthesis.
UTIME, STIME, CUTIME, CSTIME = 11, 12, 13, 14


def family(pid: int) -> list[int]:
    """The process and all its living descendants."""
    members = [pid]
    for member in members:
        for children in Path(f"/proc/{member}/task").glob("*/children"):
            try:
                members.extend(int(child) for child in children.read_text().split())
            except OSError:
                continue
    return members


def _ticks(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    # The command may hold spaces and parentheses itself: cut after the last one.
    fields = text.rpartition(")")[2].split()
    return sum(int(fields[position]) for position in (UTIME, STIME, CUTIME, CSTIME))


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads, of ended children, and of living descendants."""
    return sum(_ticks(member) for member in family(pid)) / TICKS_PER_S


def resident_bytes(pid: int) -> int:
    """Resident memory of the process and its living descendants."""
    total = 0
    for member in family(pid):
        try:
            total += int(Path(f"/proc/{member}/statm").read_text().split()[1]) * PAGE_BYTES
        except OSError:
            continue
    return total
