"""Connections to a broker through confluent-kafka, with errors a person can act on.

Owns how clients are configured and how librdkafka's errors become one line. Never knows a command.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from oncelog.errors import EXIT_USAGE, CommandError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient

DEFAULT_BOOTSTRAP: Final = "127.0.0.1:9092"
DEFAULT_PORT: Final = 9092
# confluent-kafka wants a group even from a consumer that joins none.
UNUSED_GROUP: Final = "oncelog-command-line"
# librdkafka's own log lines are not for the user of a command; errors reach us as exceptions.
LOG_LEVEL_CRITICAL: Final = 2
# Most answers bear only the code of a bad topic name, and librdkafka says no more of it.
TOPIC_NAME_RULE: Final = (
    "a topic name has 1 to 249 letters, digits, '.', '_' and '-', and is not '.' or '..'"
)


@dataclass(frozen=True, slots=True)
class Target:
    """The broker a command talks to, and how patient it is."""

    bootstrap: str
    timeout_s: float
    properties: Mapping[str, str] = field(default_factory=dict)

    def configuration(self, **more: Any) -> dict[str, Any]:
        """What every client is made with; what the user gave with --property comes last."""
        return {
            "bootstrap.servers": self.bootstrap,
            "client.id": "oncelog-command-line",
            "log_level": LOG_LEVEL_CRITICAL,
            "error_cb": _ignore,
            **{name.replace("__", "."): value for name, value in more.items()},
            **self.properties,
        }

    def admin(self) -> AdminClient:
        self.require_reachable()
        from confluent_kafka.admin import AdminClient

        with kafka_errors("cannot make a client"):
            return AdminClient(self.configuration())

    def producer(self, configuration: Mapping[str, Any]) -> Producer:
        self.require_reachable()
        from confluent_kafka import Producer

        with kafka_errors("cannot make a producer"):
            return Producer({**self.configuration(), **configuration, **self.properties})

    def consumer(self, configuration: Mapping[str, Any]) -> Consumer:
        self.require_reachable()
        from confluent_kafka import Consumer

        # Without check.crcs a record that was damaged on disk would be shown as if it were good.
        base = {"group.id": UNUSED_GROUP, "enable.auto.commit": False, "check.crcs": True}
        with kafka_errors("cannot make a consumer"):
            return Consumer({**self.configuration(), **base, **configuration, **self.properties})

    def require_reachable(self) -> None:
        """Tries a plain connection first: librdkafka would wait and retry where nobody listens."""
        reason = ""
        for address in self.addresses():
            try:
                socket.create_connection(address, timeout=self.timeout_s).close()
            except OSError as error:
                reason = reason_of(error)
            else:
                return
        raise CommandError(
            f"cannot reach a broker at {self.bootstrap}",
            reason,
            "start one with `oncelog serve`, or name another with --bootstrap HOST:PORT",
        )

    def addresses(self) -> list[tuple[str, int]]:
        """The bootstrap addresses as pairs of host and port."""
        return [split_address(text.strip()) for text in self.bootstrap.split(",")]


def split_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon:
        host, port = text, str(DEFAULT_PORT)
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise CommandError(
            f"--bootstrap {text} is not understood", fix="give HOST:PORT", exit_code=EXIT_USAGE
        )
    return host.strip("[]"), int(port)


def reason_of(error: OSError) -> str:
    """What the system says, without numbers and brackets."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (error.strerror or str(error)).lower()


@contextmanager
def kafka_errors(what: str, fix: str = "") -> Iterator[None]:
    """Turns errors of confluent-kafka into a CommandError that says what was tried."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        cause = error.args[0] if error.args else error
        raise CommandError(what, explain(cause), fix) from None
    except (TypeError, ValueError) as error:
        raise CommandError(what, str(error), fix, exit_code=EXIT_USAGE) from None


def explain(error: object) -> str:
    """An error's own sentence; librdkafka says 'Local:' and 'Broker:' for which side found it."""
    from confluent_kafka import KafkaError

    text = error.str() if isinstance(error, KafkaError) else str(error)
    if text == "Broker: Invalid topic":
        return TOPIC_NAME_RULE
    return text.replace("Local: ", "").replace("Broker: ", "")


def _ignore(_error: object) -> None:
    """librdkafka retries what befalls one connection; what matters comes as an exception."""
