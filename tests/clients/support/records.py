"""The records that clients carry to the broker and back, and how two lists of them are compared.

Owns what the records look like: every mixture of null, empty, text and binary that a client can
express. Must never know a client.
"""

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

Headers = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    """What a client sends and must get back."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()


# Command line tools print records between separators; these bytes are theirs and in no record.
FIELD_END: Final = b"\x1d"
RECORD_END: Final = b"\x1e"
KEY_END: Final = b"\x1f"
BINARY: Final = bytes(set(range(256)) - {0x1D, 0x1E, 0x1F})
# They also print headers as a list of name=value or name:value, and kcat only up to a zero byte.
HEADER_BINARY: Final = bytes(set(BINARY) - set(b",=:\t\0"))

RICH_HEADERS: Final[tuple[Headers, ...]] = (
    (),
    (("one", b"1"),),
    (("null", None), ("empty", b""), ("binary", HEADER_BINARY)),
    (),
    (("same", b"a"), ("same", b"b"), ("same", b"a")),
    (("n\u00e4me", "w\u00e9rt".encode()),),
    (),
)
TEXT_HEADERS: Final[tuple[Headers, ...]] = (
    (),
    (("one", b"1"),),
    (("null", None), ("empty", b""), ("text", "w\u00e9rt".encode())),
    (("same", b"a"), ("same", b"b")),
)
KCAT_HEADERS: Final[Headers] = (("first", b"1"), ("second", b"two words"))


@cache
def rich_records(
    count: int, *, null_twice: bool = True, null_headers: bool = True
) -> tuple[Record, ...]:
    """For clients that are libraries: any bytes, any headers. Periods differ, so all mix.

    Not every library sends a record with neither key nor value, or a header without a value.
    """
    return tuple(_rich_record(n, null_twice, null_headers) for n in range(count))


def _rich_record(n: int, null_twice: bool, null_headers: bool) -> Record:
    key = (None, b"", b"key-%d" % n, BINARY[n % 200 :])[n % 4]
    value = (b"value %d" % n, None, BINARY + b"%d" % n, b"", b"%d" % n * 30)[n % 5]
    if key is None and value is None and not null_twice:
        key = b"instead of null"
    headers = RICH_HEADERS[n % len(RICH_HEADERS)]
    if not null_headers:
        headers = tuple((name, given) for name, given in headers if given is not None)
    return Record(key, value, headers)


@cache
def text_records(count: int) -> tuple[Record, ...]:
    """For Java's console producer, which reads lines of text."""
    return tuple(
        Record(
            (None, b"", b"key-%d" % n, "schl\u00fcssel".encode())[n % 4],
            (b"value %d" % n, None, "w\u00e9rt \u2603 \U0001f600".encode(), b"", b"%d" % n * 30)[
                n % 5
            ],
            TEXT_HEADERS[n % len(TEXT_HEADERS)],
        )
        for n in range(count)
    )


@cache
def kcat_records(count: int) -> tuple[Record, ...]:
    """For kcat: one run has the same headers everywhere, and either nulls or empty ones."""
    half = count // 2
    binary = BINARY.replace(b"\n", b"")
    with_nulls = (
        Record(
            (None, b"key-%d" % n, binary)[n % 3],
            (b"value %d" % n, None, binary + b"%d" % n, b"%d" % n * 30)[n % 4],
            KCAT_HEADERS,
        )
        for n in range(half)
    )
    with_empty_ones = (
        Record((b"", b"key-%d" % n)[n % 2], (b"value %d" % n, b"", b"%d" % n * 30)[n % 3])
        for n in range(half, count)
    )
    return (*with_nulls, *with_empty_ones)


def spread(records: Sequence[Record], partitions: int) -> list[list[Record]]:
    """The records of each partition; neighbours go to different ones."""
    return [list(records[partition::partitions]) for partition in range(partitions)]


def difference(wanted: Sequence[Sequence[Record]], found: Sequence[Sequence[Record]]) -> str | None:
    """The first place where two lists of partitions differ; None when they are the same."""
    for partition, (wants, has) in enumerate(itertools.zip_longest(wanted, found, fillvalue=())):
        for offset, (one, other) in enumerate(itertools.zip_longest(wants, has)):
            if one != other:
                return f"partition {partition} offset {offset}: sent {one}, read {other}"
    return None
