"""The inverse: order statistics of years, by hand and by Hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.arrays import FloatArray
from ehfl.planning import Want, levels_between, search
from ehfl.planning.search import MOST_YEARS, Play, Years, ranks, years_needed
from ehfl.validation import InvalidValue


def needing(values: Sequence[float]) -> Play:
    """Return years that are met from these values on, a value a seed."""
    return lambda trials: np.array([float(value >= values[seed]) for value, seed in trials])


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(1, 60), st.integers(1, 9), st.data())
@settings(max_examples=100)
def test_sorted_values_of_years_are_found_whatever_is_tried_first(
    values: list[int], start: int, step: int, data: st.DataObject
) -> None:
    years = Years(range(1, 61), needing(values), 1.0)
    years.add(range(len(values)))
    places = data.draw(st.lists(st.integers(1, len(values)), min_size=1, max_size=3))
    found = years.levels_of(places, start - 1, step)
    assert [years.levels[level] for level in found] == [sorted(values)[place - 1] for place in places]


@given(
    st.lists(st.integers(1, 70), min_size=70, max_size=70), st.integers(1, 60), st.sampled_from([0.5, 0.8, 0.9]),
    st.sampled_from([None, 0.05, 0.2, 1.0]), st.integers(1, 30), st.booleans(),
)  # fmt: skip
@settings(max_examples=100)
def test_the_answer_is_that_of_the_smallest_value_of_each_year(
    values: list[int], now: int, share: float, precision: float | None, n_seeds: int, falls: bool
) -> None:
    """Whatever is tried first; no year is played with a value twice, or where another value has decided it."""
    levels = range(60, 0, -1) if falls else range(1, 61)
    order = {level: place for place, level in enumerate(levels)}
    needs = [values[seed % 70] - 1 for seed in range(200)]  # the place of the first level that does, 60 or more: none
    bounds = dict.fromkeys(range(200), (-1, 60))

    def play(trials: Sequence[tuple[float, int]]) -> FloatArray:
        for value, seed in trials:
            place, (low, high) = order[int(value)], bounds[seed]
            assert low < place < high
            bounds[seed] = (place, high) if place < needs[seed] else (low, place)
        return np.array([float(order[int(value)] >= needs[seed]) for value, seed in trials])

    found = search(levels, play, wanted=1.0, share=share, seeds=range(n_seeds), precision=precision, now=now)

    def value_of(rank: int | None) -> int | None:
        place = 60 if rank is None else sorted(needs[: found.years])[rank - 1]
        return levels[place] if place < 60 else None

    lower, middle, upper = ranks(found.years, share)
    assert found.found == (value_of(middle) is not None)
    if found.found:
        assert (found.value, *found.ends) == (value_of(middle), value_of(lower), value_of(upper))
        assert found.met == sum(need <= order[int(found.value)] for need in needs[: found.years])


def test_years_that_are_decided_are_not_played_again() -> None:
    played: list[list[tuple[float, int]]] = []

    def play(trials: Sequence[tuple[float, int]]) -> FloatArray:
        played.append(list(trials))
        return needing([3, 8, 5])(trials)

    years = Years(range(1, 11), play, 1.0)
    years.add([0, 1, 2])
    assert [years.does_in(level, 2) for level in (4, 6, 2)] == [True, True, False]
    assert played == [[(5, 0), (5, 1)], [(5, 2)], [(3, 0), (3, 2)]]


def test_ranks_by_hand() -> None:
    """0.9^29 = 0.047: the largest of 29 years is below their 90 % quantile with less than 5 %, of 28 with more."""
    assert (0.9**29 < 0.05 < 0.9**28, years_needed(0.9)) == (True, 29)
    assert ranks(29, 0.9)[1:] == (27, 29) and ranks(28, 0.9)[1:] == (26, None)
    assert ranks(10, 0.5) == (2, 5, 9)  # of 10 tosses at most 1, or at least 9, are heads with 11 / 1024 each


def test_intervals_hold_the_quantile_as_often_as_they_say() -> None:
    """Of 400 searches at least 90 % hold it, up to three standard errors of 1.5 %."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        values = rng.lognormal(3, 0.3, 200)
        found = search(levels_between(1, 500, 20, whole=False), needing(values.tolist()), wanted=1.0, share=0.9,
                       seeds=range(40), precision=None, now=20)  # fmt: skip
        low, high = found.ends
        quantile = np.exp(3 + 0.3 * 1.2816)
        held += bool(low is not None and low <= quantile * 1.02 and (high is None or high >= quantile))
    assert held / 400 >= 0.9 - 3 * 0.015


def test_years_are_added_until_the_interval_is_narrow_and_others_judge_it() -> None:
    values = np.random.default_rng(1).lognormal(3, 0.3, 400).tolist()
    levels = levels_between(1, 500, 20, whole=False)
    wide, narrow = (
        search(levels, needing(values), wanted=1.0, share=0.9, seeds=range(3), precision=precision, now=5)
        for precision in (0.5, 0.07)
    )

    assert (wide.years, wide.fresh[1]) == (29, 20)
    assert 29 < narrow.years <= MOST_YEARS and narrow.half_width <= 0.07
    assert wide.fresh[0] == sum(value <= wide.value for value in values[29:49])


def test_a_scheduler_that_needs_more_than_another_is_not_searched() -> None:
    play = needing([10, 12, 14, 16, *[13] * 96])
    found = search(range(1, 50), play, wanted=1.0, share=0.9, seeds=range(5), precision=0.5, now=5, beat=11)

    assert (found.found, found.beyond, list(found.tried)) == (False, 11, [11])
    assert search(range(1, 50), play, wanted=1.0, share=0.9, seeds=range(5), precision=0.5, now=5, beat=20).found


def test_more_clients_are_harder_to_sustain() -> None:
    found = search(range(60, 0, -1), lambda trials: np.array([float(n <= 20 + seed) for n, seed in trials]),
                   wanted=1.0, share=0.9, seeds=range(30), precision=None, now=50)  # fmt: skip

    assert found.value == 23  # of 30 years 27 sustain it: those from 3 on
    assert found.ends[0] is not None and found.ends[1] is not None and found.ends[0] > found.value > found.ends[1]


def test_where_no_value_does_the_best_that_was_reached_is_the_answer() -> None:
    found = search(range(1, 101), lambda trials: np.array([0.5 + x / 1000 for x, _ in trials]), wanted=0.99, share=0.9,
                   seeds=range(3), precision=0.2, now=8)  # fmt: skip

    assert (found.found, found.value, found.ends) == (False, 100, (None, None))
    assert found.share == pytest.approx(0.6)


def test_values_that_cannot_be_played_do_not_do() -> None:
    found = search(range(1, 101), lambda trials: np.array([np.nan if x > 50 else x / 100 for x, _ in trials]),
                   wanted=0.9, share=0.9, seeds=[0], precision=None, now=8)  # fmt: skip

    assert not found.found and found.value <= 50


@given(st.floats(0.01, 1e6), st.floats(1, 1e5), st.floats(0, 1), st.booleans())
def test_levels_hold_both_ends_and_are_close(low: float, wide: float, place: float, whole: bool) -> None:
    low = max(round(low), 1) if whole else low
    high = round(low * wide) if whole else low * wide
    levels = levels_between(low, high, low + place * (high - low), whole)

    assert (levels[0], levels[-1]) == (low, high)
    assert all(b <= a * 1.0215 + whole for a, b in pairwise(levels))
    assert not whole or all(isinstance(level, int) for level in levels)


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
    "text",
    ["", "20", "20 clients", "0 clients in 5 %", "20 clients in 0 %", "20 clients in 101 %", "a b",
     "2 clients in 5 % in Mai", "2 clients in 5 % in 0 of 0 years", "2 clients in 5 % in 9 of 9 years"],
)  # fmt: skip
def test_wants_that_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match='want must be as in "20 clients in 99 % of rounds"'):
        Want.parse(text)


def test_a_want_is_written_as_it_is_read() -> None:
    assert str(Want.parse("1 client in 99.5 % of rounds")) == "1 client in 99.5 % of rounds"
