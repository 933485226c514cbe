"""A producer that never stops: an idempotent confluent-kafka producer in a thread of its own.

Owns the client and the history of what it was told. Must never know when or how the broker ends.
"""

import threading
import time
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.killing.support.history import History, Place

OUTSTANDING_MAX: Final = 2_000
PROGRESS_DEADLINE_SECONDS: Final = 60.0
FLUSH_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.005
VALUE_BYTES: Final = 300


def to_value(number: int) -> bytes:
    return b"%d" % number + bytes(VALUE_BYTES)


def from_value(value: bytes) -> int:
    return int(value.rstrip(b"\0"))


class Load:
    """Sends numbers to all partitions in turn until it is stopped."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, **config: Any) -> None:
        self.history = History()
        self.fatal: list[str] = []
        self._topic = topic
        self._partitions = partitions
        self._acknowledged = threading.Condition()
        self._stop = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 0,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
                "error_cb": self._failed,
                **config,
            }
        )
        self._thread = threading.Thread(target=self._run, name="load")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Send no more; what was sent gets its answers."""
        self._stop.set()
        self._thread.join()
        left = self._producer.flush(FLUSH_SECONDS)
        if left:
            raise AssertionError(f"{left} records never got an answer")

    def wait_for_acknowledged(self, count: int) -> None:
        """Wait until this many more records are acknowledged; a broker that hangs fails here."""
        deadline = time.monotonic() + PROGRESS_DEADLINE_SECONDS
        with self._acknowledged:
            wanted = len(self.history.acknowledged) + count
            while len(self.history.acknowledged) < wanted:
                if self.fatal or not self._acknowledged.wait(deadline - time.monotonic()):
                    raise AssertionError(f"no progress; fatal errors: {self.fatal}")

    def _run(self) -> None:
        try:
            self._send_numbers()
        except KafkaException as error:
            self.fatal.append(str(error))

    def _send_numbers(self) -> None:
        number = 0
        while not self._stop.is_set() and not self.fatal:
            if len(self._producer) >= OUTSTANDING_MAX:
                self._producer.poll(POLL_SECONDS)
                continue
            partition = number % self._partitions
            self.history.sent[number] = partition
            self._producer.produce(
                self._topic, to_value(number), partition=partition, on_delivery=self._delivered
            )
            number += 1
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        value = message.value()
        partition, offset = message.partition(), message.offset()
        if value is None or partition is None:
            raise AssertionError("a delivery report without its record")
        number = from_value(bytes(value))
        with self._acknowledged:
            if error is None and offset is not None:
                self.history.acknowledged[number] = Place(partition, offset)
            else:
                self.history.failed[number] = str(error)
            self._acknowledged.notify_all()

    def _failed(self, error: KafkaError) -> None:
        """Broken connections are what this is about; only what ends the producer counts."""
        if error.fatal():
            self.fatal.append(str(error))
