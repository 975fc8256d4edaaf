"""Shares of what was possible in comparisons: rows, lines and sentences worked out by hand, and real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import ehfl
from ehfl.analysis import Comparison, compare
from ehfl.analysis.rows import with_shares
from ehfl.experiment import read_spec
from ehfl.experiment.play import shares_of
from ehfl.experiment.spec.build import fleet_of
from ehfl.planning import Share, clairvoyant, share
from ehfl.report import as_facts
from ehfl.report.tables.comparison import caption, quantities
from ehfl.report.write import DASH
from made_trials import ACCURACY, made_trial

FIGURES = {"share_of_possible", "share_of_lowest", "possible"}


def two_arms() -> Comparison:
    """Return one arm on batteries and one on mains power, two seeds each."""
    trials = [made_trial(arm, seed, [0.5] * 4, mains=arm == "always-on") for arm in ("myopic", "always-on")
              for seed in (0, 1)]  # fmt: skip
    return compare("two", trials, ACCURACY)


def made(*, exact: bool) -> Comparison:
    shares = [Share(0.90, 0.5, exact=True), Share(0.92, 0.5, exact=exact)]
    return with_shares(two_arms(), {"myopic": shares, "always-on": [None, None]})


def lines(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    return {line.label: tuple(line.cell(row).text for row in comparison.rows) for line in quantities(comparison)}


def test_shares_are_means_over_seeds_with_intervals() -> None:
    compared = made(exact=True)
    row = compared.rows[0]

    assert row.share_of_possible is not None
    assert row.share_of_possible.mean == pytest.approx(0.91)
    assert row.share_of_possible.high == pytest.approx(0.91 + 12.7062 * 0.01)  # t(0.975, 1) and the standard error
    assert lines(compared)["share of possible"] == ("91 %", DASH)
    assert lines(compared)["of the lowest"] == ("50.0 %", DASH)
    assert "upper bound" not in caption(compared)


def test_one_seed_with_an_upper_bound_makes_it_one() -> None:
    compared = made(exact=False)

    assert compared.rows[0].possible == "an upper bound"
    assert caption(compared).endswith("; what is achievable is an upper bound")


def test_a_seed_without_a_share_leaves_the_arm_without_one() -> None:
    shares: dict[str, list[Share | None]] = {"myopic": [Share(0.9, 0.5, exact=True), None], "always-on": [None, None]}

    assert not any(row.possible for row in with_shares(two_arms(), shares).rows)


def test_figures_are_there_only_where_they_were_asked_for() -> None:
    asked, unasked = (set(as_facts(one)["arms"][0]) for one in (made(exact=True), two_arms()))

    assert asked - unasked == FIGURES
    assert "share of possible" not in lines(two_arms())
    assert made(exact=True).frame()["share_of_possible"]["myopic"] == pytest.approx(0.91)


def test_shares_of_runs_are_those_of_their_participations(tmp_path: Path) -> None:
    """Of arms with fleets of their own; one whose turns have fewer steps and one on mains power have none."""
    spec = read_spec({
        "name": "arms", "rounds": 20, "seeds": 2, "learning": {"task": "quadratic", "local_steps": 2},
        "evaluation": {"every": 20}, "fleet": {"clients": 6, "capacity": 3, "cost": 2, "step_cost": 1},
        "arms": [{"scheduler": "greedy"}, {"label": "large", "scheduler": "greedy", "fleet.capacity": 8},
                 {"scheduler": "always-on"}, {"scheduler": "adaptive-steps"}],
    })  # fmt: skip
    compared = ehfl.compare(spec, runs=tmp_path, jobs=1)
    found = shares_of([spec], compared)

    assert found["always-on"] == found["adaptive-steps"] == [None, None]
    for arm in spec.arms[:2]:
        best = [clairvoyant(fleet_of(arm.setting), 20, seed) for seed in spec.seeds]
        played = [trial.participation for trial in compared.arm(arm.label).trials]
        assert found[arm.label] == [share(one, most) for one, most in zip(played, best, strict=True)]
