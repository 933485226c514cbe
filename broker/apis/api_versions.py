"""ApiVersions (key 18), versions 0-4.

Behaviour: lists every API of this broker with its versions. It is the first request of every
client, so a version we do not know is answered too: in the layout of version 0, with
UNSUPPORTED_VERSION and the range of this one API, and its body is not looked at. The response
header never has tagged fields.

Versions: 3 names the client's software, checked by Kafka's rule; 4 lets supported features begin
at 0.

Features: none is finalized yet; transaction.version and group.version appear once they work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from broker.context import Context
from broker.registry import Api, Buffer, encode_generated
from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

API = Api(18, 0, 4, answers_from_durable=True)

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
NO_FINALIZED_FEATURES = -1


def handle(context: Context, request: ApiVersionsRequest | None) -> ApiVersionsResponse:
    """The table of APIs, derived from the registry."""
    if request is None:
        context.version = 0
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[_entry(API)])
    if context.version >= 3 and not _is_valid_software(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(
        api_keys=[_entry(api) for api in context.broker.apis],
        finalized_features_epoch=NO_FINALIZED_FEATURES,
    )


def encode(context: Context, response: ApiVersionsResponse) -> Sequence[Buffer]:
    """As generated; only the version may have been lowered by `handle`."""
    return encode_generated(context, response)


def _is_valid_software(request: ApiVersionsRequest) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(name) is not None for name in names)


def _entry(api: Api) -> ApiVersionsResponse.ApiVersion:
    return ApiVersionsResponse.ApiVersion(
        api_key=api.key, min_version=api.lowest_advertised, max_version=api.max_version
    )
