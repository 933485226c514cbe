"""Context: what a handler is told about the request it handles."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker.broker import Broker
    from broker.connection import Connection


class Context:
    """One request: its header, its connection and the broker."""

    __slots__ = (
        "api_key",
        "broker",
        "client_id",
        "connection",
        "correlation_id",
        "response_is_flexible",
        "version",
    )

    def __init__(
        self,
        broker: Broker,
        connection: Connection,
        api_key: int,
        version: int,
        correlation_id: int,
        client_id: str,
        response_is_flexible: bool,
    ) -> None:
        self.broker = broker
        self.connection = connection
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.response_is_flexible = response_is_flexible
