"""NamedOnce: what is named twice gets one answer, and it is a refusal."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.named_once import NamedOnce
from protocol.errors import ErrorCode, KafkaError

NAMES = st.lists(st.sampled_from("abcd"), max_size=8)


@given(NAMES)
def test_every_name_is_first_once_and_in_order(names: list[str]) -> None:
    named_once = NamedOnce(names)
    first = [name for name in names if named_once.is_first(name)]
    assert first == list(dict.fromkeys(names))


@given(NAMES)
def test_only_a_name_that_comes_once_is_alone(names: list[str]) -> None:
    named_once = NamedOnce(names)
    for name, count in Counter(names).items():
        assert named_once.is_alone(name) == (count == 1)


def test_a_name_that_comes_twice_is_an_invalid_request() -> None:
    named_once = NamedOnce(["a", "b", "a"])
    named_once.check("b", "topic name")
    with pytest.raises(KafkaError, match=r"Duplicate topic name\.") as caught:
        named_once.check("a", "topic name")
    assert caught.value.code == ErrorCode.INVALID_REQUEST
