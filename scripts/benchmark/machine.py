"""The machine a run was made on: cores, memory, kernel, load, and what its disk's fdatasync costs.

Must never know: brokers, works.
"""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from scripts.benchmark.summary import percentile

SYNC_WRITES = 200
SYNC_WRITE_BYTES = 4096
QUIET_LOAD = 0.5


def sync_p50_ms(directory: Path, writes: int = SYNC_WRITES) -> float:
    """The median time of fdatasync after appending 4 KB."""
    path = directory / "fdatasync.probe"
    block = os.urandom(SYNC_WRITE_BYTES)
    times_ms = []
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    try:
        for _ in range(writes):
            os.write(descriptor, block)
            begin = time.perf_counter()
            os.fdatasync(descriptor)
            times_ms.append((time.perf_counter() - begin) * 1000)
    finally:
        os.close(descriptor)
        path.unlink()
    return percentile(times_ms, 50)


def filesystem_of(directory: Path) -> str:
    """The type of the filesystem that holds the directory, as the kernel names it."""
    best, kind = "", "unknown"
    target = str(directory.resolve())
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, name = line.split()[:3]
        inside = target == mount or target.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, name
    return kind


def describe(directory: Path) -> dict[str, object]:
    """The context that belongs beside every figure."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "filesystem": filesystem_of(directory),
        "fdatasync_p50_ms": round(sync_p50_ms(directory), 3),
        "load_1min": round(os.getloadavg()[0], 2),
    }


def warnings(context: dict[str, object]) -> list[str]:
    """Why the figures may not count."""
    found = []
    load = context["load_1min"]
    if isinstance(load, float) and load > QUIET_LOAD:
        found.append(f"the machine is not quiet (load {load}): ratios will be noisy")
    if context["filesystem"] in ("tmpfs", "ramfs"):
        found.append("the data directory is in memory: fsync costs nothing there; use --dir")
    return found
