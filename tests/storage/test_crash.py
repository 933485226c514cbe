"""Power loss at every point: what was acknowledged is there, in order, and nothing was invented."""

from __future__ import annotations

import os
import random

import pytest

from tests.storage.support.crash_images import Recording, check_image, images, record
from tests.storage.support.disk import Commit, Note, Sync, SyncDirectory

STEPS = 22
SAMPLES_PER_POINT = 1
GENERATIONS = 3
SEEDS = range(int(os.environ.get("ONCELOG_CRASH_SEEDS", "3")))
"""A nightly run takes thousands."""


def check_all(recording: Recording, seed: int) -> None:
    for number, image in enumerate(images(recording, seed, SAMPLES_PER_POINT)):
        try:
            check_image(recording, image, number)
        except Exception as error:
            raise AssertionError(f"seed {seed}, point {image.point}, {image.kind}") from error


@pytest.mark.parametrize("seed", SEEDS)
def test_every_crash_recovers_to_what_was_acknowledged(seed: int) -> None:
    check_all(record(seed, STEPS), seed)


@pytest.mark.parametrize("forgotten", [Sync, SyncDirectory, Commit])
def test_these_tests_notice_when_something_is_not_made_durable(forgotten: type) -> None:
    """The same run on a disk that does not do what it is told."""
    recording = record(0, STEPS)
    recording.operations = [
        Note(0) if isinstance(operation, forgotten) else operation
        for operation in recording.operations
    ]
    with pytest.raises(AssertionError, match="seed 0"):
        check_all(recording, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_crash_after_crash_inside_recovery_or_soon_after(seed: int) -> None:
    """Each generation begins with a recovery from a random image of the one before."""
    chance = random.Random(seed)
    recording = record(seed, STEPS)
    for _ in range(GENERATIONS):
        image = chance.choice(list(images(recording, seed, SAMPLES_PER_POINT)))
        recording = record(chance.randrange(1 << 30), 4, image.disk, recording.model)
        check_all(recording, seed)
