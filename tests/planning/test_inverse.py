"""The inverse: the smallest value that does, and what is said where none does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.planning import Want, smallest
from ehfl.validation import InvalidValue


@given(st.floats(1.5, 900), st.floats(1.5, 900))
@settings(max_examples=60)
def test_the_answer_does_and_what_lies_just_below_does_not(threshold: float, start: float) -> None:
    answer = smallest(Want(1, 0.9), lambda x: np.array([1.0 if x >= threshold else 0.5]), start=start, low=1, high=1000)

    assert answer.value >= threshold
    assert answer.below is not None
    assert answer.below < threshold
    assert answer.value - answer.below <= 0.01 * answer.value
    assert answer.tried[answer.below] < 0.9 <= answer.tried[answer.value]


@given(st.integers(1, 400), st.integers(1, 400))
@settings(max_examples=60)
def test_whole_numbers_are_found_exactly(threshold: int, start: int) -> None:
    answer = smallest(
        Want(1, 0.5), lambda n: np.array([float(n >= threshold)]), start=start, low=1, high=400, whole=True
    )

    assert answer.value == threshold
    assert answer.below == (None if threshold == 1 else threshold - 1)


def test_seeds_are_averaged_and_counted() -> None:
    answer = smallest(Want(1, 0.5), lambda x: np.array([0.4, 0.7, 0.6]) * (x >= 10), start=20, low=1, high=100)

    assert answer.share == pytest.approx(17 / 30)
    assert answer.sure == 2


def test_a_want_that_nothing_reaches_says_how_close_it_gets() -> None:
    with pytest.raises(InvalidValue) as error:
        smallest(Want(20, 0.99), lambda x: np.array([0.5 + x / 1000]), start=8, low=1, high=100, name="want")

    allowed = "want must be such that 20 clients in 99 % of rounds can be had within 1 to 100"
    assert str(error.value) == f"{allowed}, got with 100 there are 20 in 60 % of rounds"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("20 clients in 99 % of rounds", Want(20, 0.99)),
        ("1 client in 99.5%", Want(1, 0.995)),
        ("5 CLIENTS in 100 % of the rounds", Want(5, 1.0)),
    ],
)
def test_wants_are_read(text: str, want: Want) -> None:
    assert Want.parse(text) == want


@pytest.mark.parametrize(
    "text", ["", "20", "20 clients", "0 clients in 5 %", "20 clients in 0 %", "20 clients in 101 %", "a b"]
)
def test_wants_that_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match='want must be as in "20 clients in 99 % of rounds"'):
        Want.parse(text)


def test_a_want_is_written_as_it_is_read() -> None:
    assert str(Want.parse("1 client in 99.5 % of rounds")) == "1 client in 99.5 % of rounds"
