"""Node endpoints: where leaders are reached, as Produce and Fetch responses say it.

Owns one tagged-field section, the last of both responses, which is the same in both. Must never
know which nodes there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from protocol.primitives import Writer

_NODE_ENDPOINTS_TAG: Final = 0


class NodeEndpoint(NamedTuple):
    """Where the node that some `current_leader` names is reached."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


def encode_node_endpoints(writer: Writer, node_endpoints: Sequence[NodeEndpoint]) -> None:
    """The response's own tagged fields, of which the endpoints are the only one; none if empty."""
    if not node_endpoints:
        writer.empty_tagged_fields()
        return
    endpoints = Writer()
    endpoints.compact_count(len(node_endpoints))
    for node_id, host, port, rack in node_endpoints:
        endpoints.int32(node_id)
        endpoints.compact_string(host)
        endpoints.int32(port)
        endpoints.compact_nullable_string(rack)
        endpoints.empty_tagged_fields()
    writer.tagged_fields([(_NODE_ENDPOINTS_TAG, endpoints)])
