"""Digits follow the interval, and rounding never hides what an interval leaves out."""

from __future__ import annotations

import math
from itertools import product

import pytest

from ehfl.analysis import Difference, Estimate, estimate
from ehfl.report.tables import cells
from ehfl.report.tables.render import Cell
from ehfl.report.write import DASH, amount, p_value, signed
from ehfl.runs import Metric
from made_trials import ACCURACY

SCORE = Metric("score")


def gap(low: float, high: float, metric: Metric = SCORE) -> Cell:
    return cells.gap(metric, Difference((low + high) / 2, low, high, 5, 0.5))


def test_a_slowdown_whose_interval_leaves_one_out_does_not_end_at_one() -> None:
    assert cells.amount(Estimate(1.066, 1.002, 1.13, 5), null=1.0).sentence == "1.066 (1.002 to 1.130)"
    assert cells.amount(Estimate(1.65, 1.004, 2.296, 5), null=1.0).sentence == "1.65 (1.004 to 2.30)"
    assert cells.amount(Estimate(1.65, 1.0, 2.3, 5), null=1.0).ends == "1.00 to 2.30"  # which holds 1


def test_a_mean_has_no_digits_that_its_interval_gives_no_meaning_to() -> None:
    made = gap(-0.020475, 0.019525)

    assert (made.text, made.half_width, made.ends) == ("0.000", "± 0.020", "-0.020 to 0.020")


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.604, 0.654, "0.629 (0.604 to 0.654)"),
        (1.5, 1.9, "1.70 (1.50 to 1.90)"),
        (12345.6, 23456.7, "17,901 (12,346 to 23,457)"),
        (1.1e-9, 1.3e-9, "1.20e-09 (1.10e-09 to 1.30e-09)"),
        (3.0, 3.0, "3"),
        (0.1 + 0.2, 0.3, "0.300"),  # which differ in their last bit
        (1e300, 2e300, "1.50e+300 (1e+300 to 2e+300)"),
    ],
)
def test_amounts_with_intervals(low: float, high: float, text: str) -> None:
    assert cells.amount(Estimate((low + high) / 2, low, high, 3)).sentence == text


def test_the_same_with_every_seed_has_a_width_of_nothing_and_no_ends() -> None:
    assert cells.amount(estimate([4, 4, 4])) == Cell("4", "± 0")
    assert cells.metric(ACCURACY, estimate([0.9, 0.9])) == Cell("90.0 %", "± 0")


def test_one_seed_and_nothing_finite_have_no_interval() -> None:
    assert cells.metric(ACCURACY, Estimate(0.9391, None, None, 1)) == Cell("93.9 %")
    assert cells.amount(Estimate(1.7, None, None, 1)) == Cell("1.70")
    assert cells.gap(ACCURACY, Difference(-0.0134, None, None, 1, None), -1) == Cell("+1.3")
    assert cells.amount(Estimate(math.nan, math.nan, math.nan, 2)) == Cell(DASH)


def test_metrics_without_bounds_have_no_ends() -> None:
    assert cells.metric(SCORE, Estimate(0.5, -1.0, 2.0, 2)).ends == "-1.0 to 2.0"
    assert gap(-1.5, 2.5).ends == "-1.5 to 2.5"
    assert gap(-1.5, 2.5, ACCURACY).ends == "-100 to 100"


def test_no_end_rounds_onto_zero_where_the_interval_leaves_it_out() -> None:
    for low, width in product((1e-12, 1e-7, 0.0004, 0.049, 0.3), (1e-6, 0.02, 0.9, 60)):
        for made in (gap(low, low + width), gap(-low - width, -low)):
            assert all(float(end.replace(",", "")) != 0 for end in made.ends.split(" to "))


@pytest.mark.parametrize(
    ("x", "text"),
    [(0, "0"), (0.0004, "0.000400"), (1.7, "1.70"), (99.4, "99.4"), (999.6, "1,000"), (math.nan, DASH)],
)
def test_amounts(x: float, text: str) -> None:
    assert amount(x) == text


def test_a_gap_that_rounds_to_nothing_has_no_sign() -> None:
    assert signed(ACCURACY, -0.0004) == "0.0"
    assert signed(Metric("error"), -1234.0) == "-1,234"


@pytest.mark.parametrize(
    ("p", "text"), [(1.0, "1.00"), (0.0099, "0.010"), (0.001, "0.001"), (0.0, "< 0.001"), (0.0498, "0.0498")]
)
def test_p_values(p: float, text: str) -> None:
    assert p_value(p) == text
