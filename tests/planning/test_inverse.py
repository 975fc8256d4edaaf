"""The inverse: the smallest value that does, and what is said where none does."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.arrays import FloatArray
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


def test_where_no_value_does_the_best_that_was_reached_is_the_answer() -> None:
    answer = smallest(Want(20, 0.99), lambda x: np.array([0.5 + x / 1000]), start=8, low=1, high=100)

    assert (answer.found, answer.value, answer.share, answer.high) == (False, 100, 0.6, 100)
    assert (answer.below, answer.sure) == (None, 0)


def test_values_that_cannot_be_played_do_not_do() -> None:
    def shares(value: float) -> FloatArray:
        return np.array([np.nan if value > 50 else value / 100])

    hopeless = smallest(Want(1, 0.9), shares, start=8, low=1, high=1000, whole=True)
    assert (hopeless.found, hopeless.value) == (False, 32)  # 8, 16, 32 and then none that can be played


def test_rounding_never_leaves_the_limits() -> None:
    low = 14.66432
    answer = smallest(Want(1, 0.9), lambda x: np.ones(1), start=low, low=low, high=1000)

    assert list(answer.tried) == [low]  # and not 14.66


@given(
    st.integers(0, 2**32 - 1), st.floats(0.01, 1e6), st.floats(1, 1e6), st.floats(0, 1), st.booleans(), st.floats(0, 1)
)
@settings(max_examples=200)
def test_the_search_ends_whatever_the_shares_are(
    seed: int, low: float, wide: float, place: float, whole: bool, share: float
) -> None:
    rng = np.random.default_rng(seed)
    low = max(round(low), 1) if whole else low
    high = round(low * wide) if whole else low * wide
    start = low + place * (high - low)
    answer = smallest(Want(1, max(share, 0.01)), lambda x: rng.random(2), start=start, low=low, high=high, whole=whole)

    doublings = math.ceil(math.log2(high / low))
    assert len(answer.tried) <= doublings + (math.log2(high) + 4 if whole else 9)
    assert all(low <= value <= high for value in answer.tried)
    assert answer.found == (answer.share >= answer.share_wanted - 1e-12)


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
