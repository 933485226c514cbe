"""Registry: the Kafka APIs this broker speaks, found by scanning `broker/apis`.

Owns: the shape of an API module and the table api key -> module.
Never knows: what any API does.

An API module has `API = Api(...)` and `handle(context, request)`. It may bring its own `decode`
and `encode` when the generated messages are too slow for it. `handle` returns the response, or an
awaitable of it when it has to wait for something other than durability.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from broker.limits import DECODED_SLACK_BYTES
from protocol.errors import ProtocolError
from protocol.messages import NAMES, REQUESTS
from protocol.primitives import Reader, Writer

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Api:
    """What an API module declares of itself.

    `advertised_min` differs from `min_version` only where clients need to see an old version that
    is refused all the same. `answers_from_durable` says that the handler reads only what is
    durable already, so its answer need not wait for a sync; all other answers wait until
    everything they may have seen or done is on stable storage.
    """

    key: int
    min_version: int
    max_version: int
    advertised_min: int | None = None
    answers_from_durable: bool = False

    @property
    def lowest_advertised(self) -> int:
        """First version named in ApiVersions."""
        return self.min_version if self.advertised_min is None else self.advertised_min


Decode = Callable[[Buffer, int, int, int], Any]
Handle = Callable[[Any, Any], Any | Awaitable[Any]]
Encode = Callable[[Any, Any], Sequence[Buffer]]


@dataclass(frozen=True, slots=True)
class Handler:
    """One API, ready to be called by a connection."""

    api: Api
    name: str
    decode: Decode
    handle: Handle
    encode: Encode
    flexible_from: int


NEVER_FLEXIBLE = 1 << 15


def load_handlers() -> dict[int, Handler]:
    """All API modules by their key."""
    import broker.apis as package

    handlers: dict[int, Handler] = {}
    for found in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"broker.apis.{found.name}")
        handler = _handler_of(module)
        handlers[handler.api.key] = handler
    return handlers


def _handler_of(module: ModuleType) -> Handler:
    api: Api = module.API
    request_type = REQUESTS[api.key]
    flexible_from = request_type.FLEXIBLE_FROM
    return Handler(
        api=api,
        name=NAMES[api.key],
        decode=getattr(module, "decode", None) or _generated_decode(request_type),
        handle=module.handle,
        encode=getattr(module, "encode", None) or encode_generated,
        flexible_from=NEVER_FLEXIBLE if flexible_from is None else flexible_from,
    )


def _generated_decode(request_type: Any) -> Decode:
    def decode(buffer: Buffer, at: int, end: int, version: int) -> Any:
        reader = Reader(buffer, at, end, slack_bytes=DECODED_SLACK_BYTES)
        request = request_type.decode(reader, version)
        if reader.position > end:
            raise ProtocolError("request body runs past its frame")
        return request

    return decode


def encode_generated(context: Any, response: Any) -> Sequence[Buffer]:
    """A response as header and body, without the frame's size."""
    writer = Writer()
    writer.int32(context.correlation_id)
    if context.response_is_flexible:
        writer.unsigned_varint(0)
    response.encode(writer, context.version)
    return (writer.buffer,)
