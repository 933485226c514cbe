"""All works, in the order in which they run, and the choice among them.

Must never know: how a work does its work.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from scripts.benchmark.consume_work import ConsumeWork
from scripts.benchmark.java_work import JavaConsumeWork, JavaProduceWork
from scripts.benchmark.latency_work import AckLatencyWork, EndToEndLatencyWork
from scripts.benchmark.node_work import IdleNodeWork, RestartWork
from scripts.benchmark.produce_work import ProduceWork
from scripts.benchmark.request_work import RequestWork
from scripts.benchmark.work import FULL, QUICK, ClientWork, NodeWork, Scale


def scale_of(is_quick: bool) -> Scale:
    """The full set of sizes, or the quick one."""
    return QUICK if is_quick else FULL


def client_works(scale: Scale) -> list[ClientWork]:
    """The works against running brokers."""
    works: list[ClientWork] = [
        ProduceWork(scale, size_bytes, partitions, codec)
        for size_bytes in (100, 1_000, 10_000)
        for partitions in (1, 8)
        for codec in ("none", "lz4")
    ]
    works += [JavaProduceWork(scale, 100), JavaProduceWork(scale, 1_000)]
    works += [AckLatencyWork(scale), EndToEndLatencyWork(scale)]
    works += [RequestWork(scale, 1, 50), RequestWork(scale, 50, 5)]
    works += [ConsumeWork(scale), JavaConsumeWork(scale)]
    return works


def node_works(scale: Scale) -> list[NodeWork]:
    """The works that start brokers of their own."""
    return [IdleNodeWork(scale), RestartWork(scale)]


def is_chosen(name: str, pattern: str | None) -> bool:
    """Whether --only takes this name: a glob, or any part of the name."""
    return pattern is None or pattern in name or fnmatchcase(name, pattern)
