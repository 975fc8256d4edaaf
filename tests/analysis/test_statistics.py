"""Intervals and paired differences: against SciPy, by hand, by simulation, and what must not matter to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ehfl.analysis import difference, estimate
from ehfl.analysis.statistics import holm
from ehfl.validation import InvalidValue

SAMPLE = [0.81, 0.84, 0.79, 0.90, 0.83]
BASELINE = [0.80, 0.80, 0.80, 0.85, 0.79]
samples = st.lists(st.integers(-1000, 1000), min_size=2, max_size=12).map(lambda values: [v / 16 for v in values])


def test_the_interval_by_hand() -> None:
    # mean 5, variance ((-3)^2 + (-1)^2 + 1 + 3^2) / 3 = 20/3, standard error sqrt(5/3), t(0.975, 3) = 3.18245
    found = estimate([2.0, 4.0, 6.0, 8.0])

    assert (found.mean, found.n) == (5.0, 4)
    assert (found.low, found.high) == pytest.approx((5 - 3.182446 * math.sqrt(5 / 3), 5 + 3.182446 * math.sqrt(5 / 3)))


def test_the_interval_is_scipys() -> None:
    found = estimate(SAMPLE)
    expected = stats.t.interval(0.95, 4, loc=np.mean(SAMPLE), scale=stats.sem(SAMPLE))

    assert (found.low, found.high) == pytest.approx(expected, rel=1e-12)


def test_one_seed_has_no_interval() -> None:
    alone = estimate([0.7])
    pair = difference([0.7], [0.5])

    assert (alone.mean, alone.low, alone.high, alone.n) == (0.7, None, None, 1)
    assert (pair.low, pair.high, pair.n, pair.p_value) == (None, None, 1, None)
    assert pair.mean == pytest.approx(0.2)
    assert not pair.distinguishable


def test_the_paired_difference_is_scipys() -> None:
    found = difference(SAMPLE, BASELINE)
    expected = stats.ttest_rel(SAMPLE, BASELINE)

    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-10)
    assert found.mean == pytest.approx(0.026)
    assert found.n == 5


@pytest.mark.parametrize(("values", "baseline"), [([1, 2], [1]), ([1], [1, 2, 3]), ([1, 2, 3], [1, 2])])
def test_what_cannot_be_paired_is_refused(values: list[float], baseline: list[float]) -> None:
    allowed = rf"^baseline must be of as many values as it is paired with \({len(values)}\), got {len(baseline)}$"
    with pytest.raises(InvalidValue, match=allowed):
        difference(values, baseline)


def test_no_values_have_no_mean() -> None:
    with pytest.raises(InvalidValue, match=r"^values must be a list of one or more finite numbers, got an array"):
        estimate([])
    with pytest.raises(InvalidValue, match=r"^baseline must be a list"):
        difference([1.0], 1.0)


def test_pairs_matter() -> None:
    # the same values in another order: the weather that both met is no longer taken out
    paired, crossed = difference([1.1, 2.1, 3.11], [1, 2, 3]), difference([3.11, 1.1, 2.1], [1, 2, 3])

    assert paired.mean == pytest.approx(crossed.mean)
    assert paired.distinguishable and not crossed.distinguishable


def test_where_seeds_do_not_vary_chance_is_not_judged() -> None:
    same, apart = difference([0.5, 0.25], [0.5, 0.25]), difference([0.75, 0.5], [0.5, 0.25])

    assert (same.mean, same.low, same.high, same.p_value) == (0, 0, 0, 1.0)
    assert not same.distinguishable
    assert (apart.mean, apart.low, apart.high, apart.p_value) == (0.25, 0.25, 0.25, None)
    assert not apart.distinguishable
    assert estimate([2.0, 2.0]).low == estimate([2.0, 2.0]).high == 2.0


@pytest.mark.parametrize("n", [2, 5])
def test_95_of_100_intervals_hold_the_truth(n: int) -> None:
    repeats = 2000
    drawn = np.random.default_rng(n).normal(3.0, 2.0, (repeats, n))
    found = [estimate(sample) for sample in drawn]
    held = sum(e.low is not None and e.high is not None and e.low <= 3.0 <= e.high for e in found)

    # five standard deviations of a binomial share; a normal quantile in place of Student's would hold 70 % for n = 2
    assert held / repeats == pytest.approx(0.95, abs=5 * math.sqrt(0.95 * 0.05 / repeats))


def test_p_values_of_no_difference_are_uniform() -> None:
    repeats = 1000
    drawn = np.random.default_rng(8).normal(0.0, 1.0, (repeats, 2, 4))
    values = [difference(a.tolist(), b.tolist()).p_value for a, b in drawn]

    # Kolmogorov-Smirnov: beyond 1.95 / sqrt(n) with probability 0.001
    assert stats.kstest(values, "uniform").statistic < 1.95 / math.sqrt(repeats)


@given(values=samples, shift=st.integers(-100, 100), scale=st.integers(1, 64))
def test_the_interval_moves_and_stretches_with_the_values(values: list[float], shift: int, scale: int) -> None:
    plain, moved = estimate(values), estimate([scale * value + shift for value in values])

    for name in ("mean", "low", "high"):
        assert getattr(moved, name) == pytest.approx(scale * getattr(plain, name) + shift, rel=1e-9, abs=1e-9)


@given(values=samples, shift=st.integers(-100, 100), scale=st.integers(1, 64), data=st.data())
def test_what_both_of_a_pair_met_does_not_matter(
    values: list[float], shift: int, scale: int, data: st.DataObject
) -> None:
    weather = data.draw(st.lists(st.integers(-100, 100), min_size=len(values), max_size=len(values)))
    baseline = [0.0] * len(values)
    plain = difference(values, baseline)
    met = difference([scale * (v + w) for v, w in zip(values, weather, strict=True)], [scale * w for w in weather])

    assert met.mean == pytest.approx(scale * plain.mean)
    assert met.p_value == pytest.approx(plain.p_value)
    assert met.distinguishable == plain.distinguishable


@given(values=samples)
def test_turned_round_a_difference_changes_its_sign(values: list[float]) -> None:
    there, back = difference(values, [0.25] * len(values)), difference([0.25] * len(values), values)

    assert there.low is not None and there.high is not None
    assert (back.mean, back.low, back.high) == pytest.approx((-there.mean, -there.high, -there.low))
    assert back.p_value == pytest.approx(there.p_value)


@given(values=samples)
def test_the_interval_leaves_zero_out_where_p_is_below_a_twentieth(values: list[float]) -> None:
    found = difference(values, [0.0] * len(values))

    assert found.low is not None and found.high is not None
    if found.p_value is None:
        assert found.low == pytest.approx(found.high) and not found.distinguishable
    elif abs(found.p_value - 0.05) > 1e-9:
        assert found.distinguishable == (found.low > 0 or found.high < 0)


def test_holms_correction_by_hand() -> None:
    # In ascending order 4 x 0.005, 3 x 0.01, 2 x 0.03 and 0.04, which may not fall below 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.047]) == [0.047]
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([0.03, 0.03]) == pytest.approx([0.06, 0.06])
    assert holm([]) == []


def test_holms_correction_keeps_false_claims_of_a_table_below_5_of_100() -> None:
    rng, repeats, comparisons = np.random.default_rng(0), 2000, 7
    baseline, arms = rng.normal(size=(repeats, 10)), rng.normal(size=(repeats, comparisons, 10))
    p = [[difference(arm, base).p_value or 0.0 for arm in table] for table, base in zip(arms, baseline, strict=True)]
    false = [sum(min(found) < 0.05 for found in tables) / repeats for tables in (p, map(holm, p))]

    assert false[0] > 0.2 and false[1] < 0.05 + 4 * math.sqrt(0.05 * 0.95 / repeats)
