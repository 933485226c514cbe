"""Runs the works: all systems at once, warmed, interleaved, several rounds.

Must never know: what a work measures, or how results are shown.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from scripts.apache_kafka import ApacheKafkaError, answers_api_versions
from scripts.benchmark.client import FAILURES
from scripts.benchmark.summary import Sample
from scripts.benchmark.system import ROOT, Node, System
from scripts.benchmark.work import ClientWork, NodeWork

CLIENT_TIMEOUT_S = 180.0
WARM_WORKS = (
    "produce-100B-1p-none",
    "requests-50x5",
    "produce-1KB-8p-lz4",
    "ack-latency",
    "consume-1KB",
)


@dataclass
class Plan:
    """What to run and how often."""

    systems: Sequence[System]
    client_works: Sequence[ClientWork]
    node_works: Sequence[NodeWork]
    rounds: int
    warm_seconds: float
    is_quick: bool
    directory: Path

    @property
    def steps(self) -> int:
        """How many times `on_step` is called."""
        works = len(self.client_works) + len(self.node_works)
        warm = len(self.systems) if self.client_works else 0
        return works * self.rounds * len(self.systems) + warm


@dataclass
class Runner:
    """One run of the plan; samples are there as they come, so that a cut loses only the rest."""

    plan: Plan
    on_step: Callable[[str], None]
    samples: list[Sample] = field(default_factory=list)

    def run(self) -> None:
        """Everything; first against long-lived brokers, then works that start their own."""
        if self.plan.client_works:
            with ExitStack() as stack:
                nodes = {system.key: self._start(system, stack) for system in self.plan.systems}
                for system in self.plan.systems:
                    self.on_step(f"warming {system.title}")
                    self._warm(nodes[system.key])
                self._client_rounds(nodes)
        self._node_rounds()

    def _start(self, system: System, stack: ExitStack) -> Node:
        self.plan.directory.mkdir(parents=True, exist_ok=True)
        node = system.make(self.plan.directory / system.key)
        stack.callback(node.stop)
        node.start()
        return node

    def _warm(self, node: Node) -> None:
        """Full-size works in turn for the time given; their figures are thrown away."""
        end = time.monotonic() + self.plan.warm_seconds
        turn = 0
        while (left_s := end - time.monotonic()) > 0:
            name = WARM_WORKS[turn % len(WARM_WORKS)]
            run_client(name, node, self.plan.is_quick, max(left_s, 1.0))
            turn += 1

    def _client_rounds(self, nodes: dict[str, Node]) -> None:
        for round_number in range(self.plan.rounds):
            for work in self.plan.client_works:
                for system in in_turn(self.plan.systems, round_number):
                    self.on_step(f"{work.name}: {system.title}")
                    os.sync()
                    measures, error = run_client(work.name, nodes[system.key], self.plan.is_quick)
                    self._add(Sample(work.name, system.key, round_number, measures, error))

    def _node_rounds(self) -> None:
        for round_number in range(self.plan.rounds):
            for work in self.plan.node_works:
                for system in in_turn(self.plan.systems, round_number):
                    self.on_step(f"{work.name}: {system.title}")
                    os.sync()
                    self._add(self._run_node_work(work, system, round_number))

    def _run_node_work(self, work: NodeWork, system: System, round_number: int) -> Sample:
        directory = self.plan.directory / f"{system.key}-{work.name}-{round_number}"
        try:
            measures = work.run(system, directory)
            return Sample(work.name, system.key, round_number, measures)
        except (*FAILURES, ApacheKafkaError, RuntimeError) as error:
            text = f"{type(error).__name__}: {error}"
            return Sample(work.name, system.key, round_number, {}, text)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _add(self, sample: Sample) -> None:
        self.samples.append(sample)


def in_turn(systems: Sequence[System], round_number: int) -> list[System]:
    """Another system goes first in every round, so that no one always has the same neighbour."""
    shift = round_number % len(systems)
    return [*systems[shift:], *systems[:shift]]


def run_client(
    name: str, node: Node, is_quick: bool, timeout_s: float = CLIENT_TIMEOUT_S
) -> tuple[dict[str, float], str | None]:
    """Run one work in a client process: its measures, or why there are none."""
    if not answers_api_versions(node.host, node.port):
        return {}, "the broker does not answer"
    command = [sys.executable, "-m", "scripts.benchmark.client", name, node.bootstrap]
    command += [str(node.pid), *(["--quick"] if is_quick else [])]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return {}, f"no result within {timeout_s:.0f} s"
    finally:
        end_group(process)
    try:
        answer = json.loads(output.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return {}, errors.strip()[-400:] or "the client gave no result"
    return answer.get("measures", {}), answer.get("error")


def end_group(process: subprocess.Popen[str]) -> None:
    """End the client and the tool it may have started: they are a session of their own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
