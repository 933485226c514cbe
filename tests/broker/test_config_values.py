"""Config values: one way to write each value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config_values import (
    Canonical,
    InvalidConfig,
    boolean,
    integer,
    list_of,
    one_of,
    only_false,
    ratio,
    split_list,
    throttled_replicas,
)

BYTE = integer(-128, 127)
CODEC = one_of("zstd", "lz4")
POLICY = list_of("delete", "compact")


@pytest.mark.parametrize(
    ("canonical", "text", "expected"),
    [
        (BYTE, " 5 ", "5"),
        (BYTE, "+5", "5"),
        (BYTE, "-007", "-7"),
        (BYTE, "127", "127"),
        (ratio, "0.50", "0.5"),
        (ratio, " 1 ", "1.0"),
        (ratio, "5e-1", "0.5"),
        (CODEC, " zstd ", "zstd"),
        (POLICY, "", ""),
        (POLICY, " compact , delete,compact", "compact,delete"),
        (boolean, " TRUE", "true"),
        (boolean, "False", "false"),
        (only_false, "False", "false"),
        (throttled_replicas, "*", "*"),
        (throttled_replicas, "0:1, 12:3", "0:1,12:3"),
        (throttled_replicas, "", ""),
    ],
)
def test_there_is_one_way_to_write_a_value(canonical: Canonical, text: str, expected: str) -> None:
    assert canonical(text) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize(
    ("canonical", "text"),
    [
        (BYTE, ""),
        (BYTE, "128"),
        (BYTE, "-129"),
        (BYTE, "1_0"),
        (BYTE, "1.0"),
        (BYTE, "0x1"),
        (BYTE, "\u0663"),
        (BYTE, "9" * 5000),
        (ratio, ""),
        (ratio, "1.1"),
        (ratio, "-0.1"),
        (ratio, "nan"),
        (ratio, "inf"),
        (ratio, "0_1"),
        (CODEC, ""),
        (CODEC, "ZSTD"),
        (POLICY, "delete,burn"),
        (boolean, "yes"),
        (only_false, "true"),
        (only_false, "no"),
        (throttled_replicas, "0"),
        (throttled_replicas, "*,0:1"),
        (throttled_replicas, "a:b"),
    ],
)
def test_what_is_no_value_is_refused(canonical: Canonical, text: str) -> None:
    with pytest.raises(InvalidConfig):
        canonical(text)


@given(st.text())
@pytest.mark.parametrize(
    "canonical", [BYTE, ratio, CODEC, POLICY, boolean, only_false, throttled_replicas]
)
def test_any_text_is_canonical_once_accepted_or_refused(canonical: Canonical, text: str) -> None:
    try:
        once = canonical(text)
    except InvalidConfig:
        return
    assert canonical(once) == once


@given(st.integers(-128, 127))
def test_every_number_in_range_is_kept(number: int) -> None:
    assert BYTE(str(number)) == str(number)


@given(st.lists(st.sampled_from(["a", "b", " c ", ""])))
def test_a_list_has_every_item_once_in_its_first_order(items: list[str]) -> None:
    wanted = [item.strip() for item in items if item.strip()]
    assert split_list(",".join(items)) == sorted(set(wanted), key=wanted.index)
