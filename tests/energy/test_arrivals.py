"""Poisson and Compound: words inverted by hand, the laws, parts that equal the whole."""

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from ehfl.energy import Compound, Poisson
from ehfl.energy.harvests.arrivals import arrivals, chance_of_none
from ehfl.energy.harvests.bernoulli import harvest_words
from ehfl.randomness import TILE, Purpose, words

LARGE = 2 * TILE + 77  # two whole tiles and a part of one: compiled words


def units_of(word: int, rate: float, q: float = 0.0) -> int:
    rates = np.array([rate])
    return int(arrivals(np.array([[word]], np.uint32), rates, chance_of_none(rates), np.array([q]))[0, 0])


@pytest.mark.parametrize("rate", [0.01, 0.5, 1.0, 3.7, 20.0])
def test_a_word_stands_for_as_many_units_as_cumulated_probabilities_lie_below_it(rate: float) -> None:
    """The probabilities to 40 digits; at each step the last word of k units, and the first of k + 1."""
    with localcontext() as context:
        context.prec = 40
        term = total = (-Decimal(rate)).exp()
        for k in range(60):
            first_of_more = math.ceil(total * 2**32)
            if first_of_more >= 2**32:
                break
            assert units_of(first_of_more, rate) > k
            assert units_of(first_of_more - 1, rate) <= k
            term = term * Decimal(rate) / (k + 1)
            total += term


def test_words_of_bursts_by_hand() -> None:
    """rate 1, mean size 2: p_0 = 1 / e, p_1 = p_0 / 2, p_2 = (1/2 + 1) p_1 / 2; together 0.368, 0.552, 0.690."""
    chances = [math.exp(-1), math.exp(-1) * 1.5, math.exp(-1) * 1.875]

    for k, chance in enumerate(chances):
        assert units_of(int(chance * 2**32) - 1, rate=1.0, q=0.5) == k
        assert units_of(int(chance * 2**32) + 1, rate=1.0, q=0.5) == k + 1


@pytest.mark.parametrize(("rate", "size"), [(0.2, 10.0), (3.0, 1.5), (0.7, 1.0), (60.0, 4.0)])
def test_the_law_of_bursts_is_a_poisson_sum_of_geometric_sizes(rate: float, size: float) -> None:
    """N sizes come to at most k as often as a negative binomial of N has at most k - N failures."""
    how_many = np.arange(1, 200)
    weights = stats.poisson.pmf(how_many, rate)
    for k in (0, 1, 2, 5, 20, 60):
        chance = math.exp(-rate) + float((weights * stats.nbinom.cdf(k - how_many, how_many, 1 / size)).sum())
        edge = chance * 2**32

        if 2 < edge < 2**32 - 2:
            assert units_of(int(edge) - 1, rate, 1 - 1 / size) <= k < units_of(int(edge) + 2, rate, 1 - 1 / size)


@pytest.mark.parametrize("rate", [0.05, 0.7, 4.0, 90.0])
def test_poissons_frequencies_pass_a_chi_square_test(rate: float) -> None:
    """Classes that 10 draws or more are expected in; what a true law gives is above the bound once in 10^6."""
    units = Poisson(rate).units(11, range(100), range(2000))
    expected = units.size * stats.poisson.pmf(np.arange(400), rate)
    seen = np.bincount(units.ravel(), minlength=400)[:400]
    common = expected >= 10
    rest = np.array([seen[~common].sum()]), np.array([units.size - expected[common].sum()])

    seen, expected = np.append(seen[common], rest[0]), np.append(expected[common], rest[1])
    statistic = float(((seen - expected) ** 2 / np.maximum(expected, 1)).sum())
    assert statistic < stats.chi2.isf(1e-6, df=seen.size - 1)


@pytest.mark.parametrize(("rate", "size"), [(0.1, 20.0), (2.0, 3.0), (0.5, 1.0), (500.0, 1.0), (1.0, 500.0)])
def test_bursts_have_their_mean_and_variance(rate: float, size: float) -> None:
    """Mean rate * size and variance rate * size (2 size - 1); the error of a sample variance from the fourth moment."""
    units = Compound(rate, size).units(3, range(40), range(2500)).astype(float)
    variance = rate * size * (2 * size - 1)

    assert abs(units.mean() - rate * size) < 5 * math.sqrt(variance / units.size)
    fourth = ((units - units.mean()) ** 4).mean()
    assert abs(units.var() - variance) < 6 * math.sqrt(fourth / units.size)


def test_clients_and_rounds_are_independent() -> None:
    """The variance of a sum over m clients is m times theirs; over n rounds its relative error is sqrt(2 / n)."""
    totals = Poisson(2.0).units(5, range(4000), range(50)).sum(axis=1)

    assert abs(totals.var() / (50 * 2.0) - 1) < 5 * math.sqrt(2 / 4000)
    assert abs(np.corrcoef(totals[:-1], totals[1:])[0, 1]) < 5 / math.sqrt(4000)


def test_bursts_of_one_unit_are_poisson_to_the_bit() -> None:
    rates = np.linspace(0, 9, 40)

    assert np.array_equal(
        Compound(rates, mean_size=1).units(8, range(200), range(40)), Poisson(rates).units(8, range(200), range(40))
    )


def both(rates: Any, sizes: Any) -> list[Poisson | Compound]:
    return [Poisson(rates), Compound(rates, sizes)]


def test_one_number_for_all_and_a_list_of_it_are_the_same() -> None:
    for one, several in zip(both(1.7, 3.0), both([1.7] * 30, [3.0] * 30), strict=True):
        assert np.array_equal(one.units(0, range(200), range(30)), several.units(0, range(200), range(30)))
    mixed = Compound(1.7, [3.0] * 30).units(0, range(200), range(30))
    assert np.array_equal(mixed, Compound([1.7] * 30, 3.0).units(0, range(200), range(30)))


@given(
    seed=st.integers(0, 2**64 - 1),
    rates=st.lists(st.floats(0, 20), min_size=4, max_size=4),
    sizes=st.lists(st.floats(1, 20), min_size=4, max_size=4),
    first=st.integers(0, 2**31 - 100),
    part=st.tuples(st.integers(0, 29), st.integers(1, 30), st.integers(0, 3), st.integers(1, 4)),
)
@settings(max_examples=60)
def test_any_part_computed_alone_is_that_part_of_the_whole(
    seed: int, rates: list[float], sizes: list[float], first: int, part: tuple[int, int, int, int]
) -> None:
    rounds, clients = range(first + part[0], first + min(part[0] + part[1], 30)), range(part[2], min(4, sum(part[2:])))
    for harvest in both(rates, sizes):
        whole = harvest.units(seed, range(first, first + 30), range(4))

        found = harvest.units(seed, rounds, clients)

        assert np.array_equal(found, whole[part[0] :, part[2] :][: len(rounds), : len(clients)])


def test_a_large_fleet_has_the_units_that_its_words_stand_for() -> None:
    rates = np.linspace(0, 3, LARGE)
    assert np.array_equal(harvest_words(6, range(3), range(TILE, LARGE + TILE)), plain(range(TILE, LARGE + TILE)))
    for harvest in both(rates, 1 + rates):
        whole = harvest.units(6, range(70), range(LARGE))  # more words than are worked on at a time

        assert np.array_equal(
            harvest.units(6, range(65, 68), range(TILE - 5, TILE + 5)), whole[65:68, TILE - 5 : TILE + 5]
        )


def plain(clients: range) -> NDArray[np.uint32]:
    return words(6, Purpose.HARVEST, range(3), clients)


def test_nothing_arrives_at_rate_zero_and_nothing_is_asked_of_empty_ranges() -> None:
    for harvest in both(0.0, 5.0):
        assert not harvest.units(0, range(100), range(100)).any()
        assert harvest.units(0, range(0), range(3)).shape == (0, 3)
        assert harvest.units(0, range(3), range(0)).shape == (3, 0)


def test_mean_rates() -> None:
    assert Poisson([0.5, 2.5]).mean_rates(2).tolist() == [0.5, 2.5]
    assert Compound([0.5, 2.5], 4).mean_rates(2).tolist() == [2.0, 10.0]
    assert Compound(0.5, [2, 3]).mean_rates(2).tolist() == [1.0, 1.5]


@pytest.mark.parametrize(
    ("harvest", "message"),
    [
        (lambda: Poisson(-1), r"rate must be in \[0, 500\], got -1"),
        (lambda: Poisson([1, 501]), r"rate must be in \[0, 500\], got 501 for client 1"),
        (lambda: Poisson(math.nan), r"rate must be in \[0, 500\], got nan"),
        (lambda: Poisson("much"), r"rate must be in \[0, 500\], got 'much'"),
        (lambda: Compound(1, 0.5), r"mean_size must be in \[1, 500\], got 0.5"),
        (
            lambda: Compound([1, 2], [1, 2, 3]),
            r"mean_size must be one number or one per client \(2, as rate has\), got",
        ),
        (lambda: Compound([1, 6], 100), r"rate must be at most 500 / mean_size \(.*\), got 6 for client 1"),
        (lambda: Compound(6, [1, 100]), r"rate must be at most 500 / mean_size \(.*\), got 6 for client 1"),
        (lambda: Poisson([1, 2]).mean_rates(3), r"rate must be one number or one per client \(3\), got a list of 2"),
        (
            lambda: Compound(1, [1, 2]).mean_rates(3),
            r"mean_size must be one number or one per client \(3\), got a list",
        ),
    ],
)
def test_what_cannot_arrive_is_refused(harvest: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        harvest()
