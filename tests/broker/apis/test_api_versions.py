"""ApiVersions: the table says what the registry holds, and even unknown versions are answered."""

from __future__ import annotations

import pytest

from broker.apis.api_versions import API, handle
from broker.context import Context
from broker.registry import load_handlers
from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.support import InProcessBroker

VERSIONS = range(API.min_version, API.max_version + 1)
SOFTWARE = {"client_software_name": "apache-kafka-java", "client_software_version": "4.1.1"}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_api_is_listed_with_its_range(broker: InProcessBroker, version: int) -> None:
    answer = broker.call(ApiVersionsRequest(**SOFTWARE), version)
    listed = {item.api_key: (item.min_version, item.max_version) for item in answer.api_keys}
    apis = {key: handler.api for key, handler in load_handlers().items()}
    assert answer.error_code == ErrorCode.NONE
    assert listed == {key: (api.lowest_advertised, api.max_version) for key, api in apis.items()}


def test_produce_is_advertised_from_zero_for_old_librdkafka(broker: InProcessBroker) -> None:
    answer = broker.call(ApiVersionsRequest(**SOFTWARE), 3)
    produce = next(item for item in answer.api_keys if item.api_key == 0)
    assert (produce.min_version, produce.max_version) == (0, 13)


def test_telemetry_is_not_offered(broker: InProcessBroker) -> None:
    answer = broker.call(ApiVersionsRequest(**SOFTWARE), 4)
    assert {item.api_key for item in answer.api_keys}.isdisjoint({71, 72})


@pytest.mark.parametrize("name", ["", "-java", "java-", "ja va", "java!"])
def test_an_odd_software_name_is_an_invalid_request(broker: InProcessBroker, name: str) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    assert broker.call(request, 3).error_code == ErrorCode.INVALID_REQUEST


def test_an_unknown_version_is_answered_in_the_oldest_layout(broker: InProcessBroker) -> None:
    context = Context(broker.broker, broker.connection, 18, 99, 1, "", False)
    answer = handle(context, None)
    assert context.version == 0
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [item.api_key for item in answer.api_keys] == [18]
