"""Values to produce: made before the clock starts, the same for every system.

Must never know: clients, brokers.
"""

from __future__ import annotations

import random

SEED = 20260101
POOL_BYTES = 2 * 1024 * 1024
POOL_VALUES_MIN = 200
WORDS = (b"order", b"customer", b"amount", b"created", b"status", b"currency", b"item", b"quantity")


def value_pool(size_bytes: int) -> list[bytes]:
    """Distinct values of one size, half noise and half words: a codec has something to do.

    The pool is larger than lz4's 64 KB window for each of 8 partitions, so that repetition of the
    pool itself compresses nothing.
    """
    source = random.Random(SEED)
    count = max(POOL_VALUES_MIN, POOL_BYTES // size_bytes)
    return [_value(source, size_bytes) for _ in range(count)]


def _value(source: random.Random, size_bytes: int) -> bytes:
    parts: list[bytes] = []
    length = 0
    while length < size_bytes:
        word = source.choice(WORDS)
        part = word + source.randbytes(len(word))
        parts.append(part)
        length += len(part)
    return b"".join(parts)[:size_bytes]
