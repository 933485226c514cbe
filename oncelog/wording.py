"""Numbers with their nouns, as people write them.

Owns singular and plural. Never knows what is counted.
"""


def counted(number: int, noun: str) -> str:
    """`1 record`, `2 records`, `1,000 records`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
