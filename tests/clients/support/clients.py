"""All clients, and how a test names those it wants."""

from typing import Any, Final

import pytest

from tests.clients.support.aiokafka_client import AiokafkaClient
from tests.clients.support.client import Client
from tests.clients.support.confluent_client import ConfluentClient
from tests.clients.support.java_console_client import JavaConsoleClient
from tests.clients.support.kafka_python_client import KafkaPythonClient
from tests.clients.support.kcat_client import KcatClient

CLIENTS: Final[tuple[Client, ...]] = (
    ConfluentClient(),
    KcatClient(),
    AiokafkaClient(),
    KafkaPythonClient(),
    JavaConsoleClient(),
)
MARKERS: Final = {"kcat": [pytest.mark.kcat], "java": [pytest.mark.java]}


def markers_of(*clients: Client) -> list[Any]:
    return [marker for client in clients for marker in MARKERS.get(client.name, [])]


def clients_and_codecs() -> list[Any]:
    """Each client with each codec it has, as test parameters."""
    return [
        pytest.param(client, codec, id=f"{client.name}-{codec}", marks=markers_of(client))
        for client in CLIENTS
        for codec in client.codecs
    ]


def pairs() -> list[Any]:
    """Each client as a producer with each other as a reader, as test parameters."""
    return [
        pytest.param(
            producer,
            reader,
            id=f"{producer.name}-to-{reader.name}",
            marks=markers_of(producer, reader),
        )
        for producer in CLIENTS
        for reader in CLIENTS
        if producer is not reader
    ]
