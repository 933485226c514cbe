"""One-record Produce requests, many in flight, on raw sockets.

Must never know: which broker answers.
"""

from __future__ import annotations

import selectors
import time
from dataclasses import dataclass

from scripts.benchmark import topic
from scripts.benchmark.frames import produce_error_at
from scripts.benchmark.latency_work import check_ack, produce_frame, wait_writable
from scripts.benchmark.measure import Measures
from scripts.benchmark.raw_connection import RawConnection
from scripts.benchmark.work import Endpoint, Scale, Window, WorkError

PARTITIONS_MAX = 8
STALL_S = 30.0


@dataclass(frozen=True)
class RequestWork:
    """So many connections, each with so many requests in flight all the time."""

    scale: Scale
    connections: int
    in_flight: int

    @property
    def name(self) -> str:
        """For example requests-50x5."""
        return f"requests-{self.connections}x{self.in_flight}"

    @property
    def partitions(self) -> int:
        """Several connections write to several partitions."""
        return min(self.connections, PARTITIONS_MAX)

    def run(self, endpoint: Endpoint) -> Measures:
        """Keep the pipes full for a fixed time; every answer is checked."""
        with topic.temporary(endpoint.bootstrap, self.partitions) as name:
            connections = [RawConnection(endpoint.bootstrap) for _ in range(self.connections)]
            try:
                for index in range(self.partitions):
                    wait_writable(connections[index], name, index)
                return self._drive(connections, name, endpoint.pid)
            finally:
                for connection in connections:
                    connection.close()

    def _drive(self, connections: list[RawConnection], name: str, pid: int) -> Measures:
        error_at = produce_error_at(name)
        frames = [produce_frame(name, partition) for partition in range(self.partitions)]
        selector = selectors.DefaultSelector()
        window = Window(pid)
        end = time.perf_counter() + self.scale.request_seconds
        for index, connection in enumerate(connections):
            frame = frames[index % self.partitions]
            selector.register(connection.socket, selectors.EVENT_READ, (connection, frame))
            connection.send(frame * self.in_flight)
        answered = 0
        outstanding = self.connections * self.in_flight
        while outstanding:
            ready = selector.select(STALL_S)
            if not ready:
                raise WorkError("the broker answers no more")
            is_over = time.perf_counter() >= end
            for key, _ in ready:
                connection, frame = key.data
                count = self._take(connection, error_at)
                answered += count
                outstanding -= count
                if count and not is_over:
                    connection.send(frame * count)
                    outstanding += count
        window.close()
        selector.close()
        return window.request_measures(answered)

    def _take(self, connection: RawConnection, error_at: int) -> int:
        answers = connection.receive_some()
        for answer in answers:
            check_ack(answer, error_at)
        return len(answers)
