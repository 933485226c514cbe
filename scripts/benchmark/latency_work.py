"""Latency with one request in flight, on raw sockets: to the ack, and to a waiting consumer.

Must never know: which broker answers.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

from scripts.benchmark import topic
from scripts.benchmark.frames import (
    fetch_request,
    one_record_batch,
    produce_error_at,
    produce_request,
    read_fetch_answer,
)
from scripts.benchmark.measure import Measures
from scripts.benchmark.payload import value_pool
from scripts.benchmark.raw_connection import RawConnection
from scripts.benchmark.summary import percentile
from scripts.benchmark.work import Endpoint, Scale, WorkError

RECORD_BYTES = 100
FETCH_WAIT_MS = 5_000
# Long enough for the broker to have parked the Fetch, so that it really waits.
PARK_S = 0.002
READY_TRIES = 200
READY_PAUSE_S = 0.02
UNCOUNTED_REQUESTS = 50


def produce_frame(name: str, partition: int = 0) -> bytes:
    """One prepared Produce frame with one record of 100 B."""
    batch = one_record_batch(value_pool(RECORD_BYTES)[0], int(time.time() * 1000))
    return produce_request(name, partition, batch)


def check_ack(answer: bytes, error_at: int) -> None:
    """Raise unless the broker took the record: quick refusals must not count."""
    code = struct.unpack_from(">h", answer, error_at)[0]
    if code:
        raise WorkError(f"Produce was answered with error {code}")


def wait_writable(connection: RawConnection, name: str, partition: int = 0) -> None:
    """Produce one record, trying again while the new topic is not known yet."""
    error_at = produce_error_at(name)
    for _ in range(READY_TRIES):
        answer = connection.ask(produce_frame(name, partition))
        if struct.unpack_from(">h", answer, error_at)[0] == 0:
            return
        time.sleep(READY_PAUSE_S)
    raise WorkError(f"topic {name} does not take records")


def _measures(times_s: list[float]) -> Measures:
    counted = [value * 1000 for value in times_s[UNCOUNTED_REQUESTS:]]
    return {"p50_ms": percentile(counted, 50), "p99_ms": percentile(counted, 99)}


@dataclass(frozen=True)
class AckLatencyWork:
    """Produce one record, wait for the ack, again."""

    scale: Scale

    @property
    def name(self) -> str:
        """The one name."""
        return "ack-latency"

    def run(self, endpoint: Endpoint) -> Measures:
        """From before the send until the whole answer is here."""
        times_s = []
        deadline = time.monotonic() + self.scale.time_limit_s
        with (
            topic.temporary(endpoint.bootstrap, 1) as name,
            RawConnection(endpoint.bootstrap) as connection,
        ):
            wait_writable(connection, name)
            frame, error_at = produce_frame(name), produce_error_at(name)
            for _ in range(self.scale.latency_requests + UNCOUNTED_REQUESTS):
                begin = time.perf_counter()
                answer = connection.ask(frame)
                times_s.append(time.perf_counter() - begin)
                check_ack(answer, error_at)
                if time.monotonic() > deadline and len(times_s) > 2 * UNCOUNTED_REQUESTS:
                    break
        return _measures(times_s)


@dataclass(frozen=True)
class EndToEndLatencyWork:
    """A consumer waits in a long poll; a record is produced; the consumer has it."""

    scale: Scale

    @property
    def name(self) -> str:
        """The one name."""
        return "end-to-end-latency"

    def run(self, endpoint: Endpoint) -> Measures:
        """From before the Produce is sent until the consumer holds the whole Fetch answer."""
        times_s: list[float] = []
        deadline = time.monotonic() + self.scale.time_limit_s
        with (
            topic.temporary(endpoint.bootstrap, 1) as name,
            RawConnection(endpoint.bootstrap) as producer,
            RawConnection(endpoint.bootstrap) as consumer,
        ):
            wait_writable(producer, name)
            frame = produce_frame(name)
            for offset in range(1, self.scale.latency_requests // 2 + UNCOUNTED_REQUESTS):
                times_s.append(self._once(producer, consumer, name, frame, offset))
                if time.monotonic() > deadline and len(times_s) > 2 * UNCOUNTED_REQUESTS:
                    break
        return _measures(times_s)

    def _once(
        self, producer: RawConnection, consumer: RawConnection, name: str, frame: bytes, offset: int
    ) -> float:
        consumer.send(fetch_request(name, 0, offset, FETCH_WAIT_MS))
        time.sleep(PARK_S)
        begin = time.perf_counter()
        producer.send(frame)
        fetched = consumer.receive()
        elapsed_s = time.perf_counter() - begin
        check_ack(producer.receive(), produce_error_at(name))
        answer = read_fetch_answer(name, fetched)
        if answer.error_code or not answer.records_bytes or answer.high_watermark != offset + 1:
            raise WorkError(f"the waiting consumer got {answer} for offset {offset}")
        return elapsed_s
