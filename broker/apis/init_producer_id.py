"""InitProducerId (key 22), versions 0-5.

Behaviour: without a transactional id, hands out a producer id that nobody had before and nobody
will have again, with epoch 0; whatever else the request says is ignored. The answer leaves when the
id is durable, so not even a crash can make it come twice. Naming only one of producer id and epoch
is INVALID_REQUEST.

Versions: 2 flexible; 3 the client may name the producer id and epoch it has; 4 and 5 change nothing
in layout (they allow newer error codes of transactions).

Deviations from Apache Kafka: transactions come later. Until then a request with a transactional id
is checked (empty id: INVALID_REQUEST; timeout outside 1 ms to 15 minutes:
INVALID_TRANSACTION_TIMEOUT) and then refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED: every
client gives up at once on that, where it would try again for ever on others. Version 6 (two-phase
commit) is unstable in Kafka too.
"""

from __future__ import annotations

import logging

from broker.changes import ProducerIdAllocated
from broker.context import Context
from broker.registry import Api
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from storage.errors import StorageFull

API = Api(22, 0, 5)

logger = logging.getLogger("oncelog.producers")

NONE_GIVEN = -1
FIRST_EPOCH = 0
TRANSACTION_TIMEOUT_MS_MAX = 15 * 60 * 1000


def handle(context: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """A fresh producer id, or why not."""
    try:
        _check(request)
        producer_id = _allocate(context)
    except KafkaError as error:
        return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=FIRST_EPOCH)


def _check(request: InitProducerIdRequest) -> None:
    """What is wrong with the request, in Kafka's order."""
    if (request.producer_id == NONE_GIVEN) != (request.producer_epoch == NONE_GIVEN):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "producer id and epoch must be given both or not at all"
        )
    if request.transactional_id is None:
        return
    if not request.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    if not 0 < request.transaction_timeout_ms <= TRANSACTION_TIMEOUT_MS_MAX:
        raise KafkaError(
            ErrorCode.INVALID_TRANSACTION_TIMEOUT,
            f"the transaction timeout must lie between 1 and {TRANSACTION_TIMEOUT_MS_MAX} ms",
        )
    logger.warning(
        "refused transactional id %.100r: transactions are not there yet", request.transactional_id
    )
    raise KafkaError(
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "this broker has no transactions yet"
    )


def _allocate(context: Context) -> int:
    producer_id = context.broker.state.producer_ids.next_id
    try:
        context.broker.durability.commit((ProducerIdAllocated(producer_id),))
    except StorageFull as error:
        # The one retriable error that every client knows here; there is no field for a message.
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(error)) from None
    return producer_id
