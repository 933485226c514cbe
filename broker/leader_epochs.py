"""The leader-epoch check that Fetch, ListOffsets and OffsetForLeaderEpoch share.

There is one leader for ever, so its epoch is a constant; a client that names another one has
metadata from some other place, and must be told so it fetches metadata again.
"""

from __future__ import annotations

from broker.partition import LEADER_EPOCH
from protocol.errors import ErrorCode

NOT_CHECKED = -1


def check_leader_epoch(current_leader_epoch: int) -> ErrorCode:
    """NONE, or what is wrong with the epoch the client believes to be current."""
    if current_leader_epoch in (NOT_CHECKED, LEADER_EPOCH):
        return ErrorCode.NONE
    if current_leader_epoch < LEADER_EPOCH:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH
