"""Power loss at every point: what was acknowledged is there, in order, and nothing was invented."""

from __future__ import annotations

import os
import random

import pytest

from tests.storage.support.crash_images import Image, Recording, check_image, images, record

STEPS = 22
SAMPLES_PER_POINT = 1
GENERATIONS = 3
SEEDS = range(int(os.environ.get("ONCELOG_CRASH_SEEDS", "3")))
"""A nightly run takes thousands."""


def check(recording: Recording, image: Image, seed: int, number: int) -> None:
    try:
        check_image(recording, image, number)
    except Exception as error:
        raise AssertionError(f"seed {seed}, point {image.point}, {image.kind}") from error


@pytest.mark.parametrize("seed", SEEDS)
def test_every_crash_recovers_to_what_was_acknowledged(seed: int) -> None:
    recording = record(seed, STEPS)
    for number, image in enumerate(images(recording, seed, SAMPLES_PER_POINT)):
        check(recording, image, seed, number)


@pytest.mark.parametrize("seed", SEEDS)
def test_crash_after_crash_inside_recovery_or_soon_after(seed: int) -> None:
    """Each generation begins with a recovery from a random image of the one before."""
    chance = random.Random(seed)
    recording = record(seed, STEPS)
    for _ in range(GENERATIONS):
        image = chance.choice(list(images(recording, seed, SAMPLES_PER_POINT)))
        recording = record(chance.randrange(1 << 30), 4, image.disk, recording.model)
        for number, following in enumerate(images(recording, seed, SAMPLES_PER_POINT)):
            check(recording, following, seed, number)
