"""Housekeeping: what the broker does by the clock: checkpoints, retention, forgetting silent producers."""

from __future__ import annotations

import asyncio

from broker.broker import Broker


class Housekeeping:
    def __init__(self, broker: Broker, loop: asyncio.AbstractEventLoop) -> None:
        self._broker = broker
        self._loop = loop

    def start(self) -> None: ...

    async def stop(self) -> None: ...
