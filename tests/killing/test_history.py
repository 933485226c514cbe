"""The judge of the kill loop is itself judged: it accepts good histories and rejects bad ones."""

import pytest

from tests.killing.support.history import History, Logs, Place, complaints

GOOD_LOGS: Logs = {0: [(0, 1), (1, 3)], 1: [(0, 2), (1, 4)]}


def a_history() -> History:
    """1 to 4 were acknowledged, 5 was given up on."""
    return History(
        sent={1: 0, 2: 1, 3: 0, 4: 1, 5: 0},
        acknowledged={1: Place(0, 0), 2: Place(1, 0), 3: Place(0, 1), 4: Place(1, 1)},
        failed={5: "timed out"},
    )


@pytest.mark.parametrize("logs", [GOOD_LOGS, {**GOOD_LOGS, 0: [(0, 1), (1, 3), (2, 5)]}])
def test_a_good_history_is_accepted(logs: Logs) -> None:
    assert complaints(a_history(), logs) == []


@pytest.mark.parametrize(
    ("logs", "complaint"),
    [
        ({0: [(0, 1), (1, 3)], 1: [(0, 2)]}, "lost: 4"),
        ({0: [(0, 1), (1, 3)], 1: []}, "lost: 2"),
        ({0: [(0, 1), (1, 3), (2, 3)], 1: GOOD_LOGS[1]}, "duplicate: 3"),
        ({0: [(0, 1), (1, 3), (2, 5), (3, 5)], 1: GOOD_LOGS[1]}, "duplicate: 5"),
        ({0: GOOD_LOGS[0], 1: [(0, 2), (1, 4), (2, 1)]}, "duplicate: 1"),
        ({0: [(0, 1), (2, 3)], 1: GOOD_LOGS[1]}, "gap: partition 0"),
        ({0: [(0, 3), (1, 1)], 1: GOOD_LOGS[1]}, "disorder: partition 0"),
        ({0: [(0, 1), (1, 5), (2, 3)], 1: GOOD_LOGS[1]}, "disorder: partition 0"),
        ({0: [(0, 1), (1, 3), (2, 99)], 1: GOOD_LOGS[1]}, "stranger: 99"),
        ({0: GOOD_LOGS[0], 1: [(0, 2), (1, 4), (2, 5)]}, "stranger: 5"),
    ],
)
def test_a_bad_history_is_rejected(logs: Logs, complaint: str) -> None:
    assert any(found.startswith(complaint) for found in complaints(a_history(), logs))


def test_a_record_moved_to_another_offset_is_rejected() -> None:
    logs: Logs = {0: [(0, 1), (1, 5), (2, 3)], 1: GOOD_LOGS[1]}
    assert any(found.startswith("lost: 3") for found in complaints(a_history(), logs))
