"""What energy and time are shown in, and comparisons of fleets that count joules."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ehfl.analysis import Estimate, compare
from ehfl.analysis.pairing import difference_curves
from ehfl.analysis.units import NO_CLOCK, Scale, clock_of, energy_scale, time_scale
from ehfl.report.tables.comparison import quantities
from ehfl.report.write import with_unit
from ehfl.validation import UserError
from made_joules import HOUR, hours_and_joules, in_joules, two_lengths
from made_trials import ACCURACY, made_trial, two_arms


@pytest.mark.parametrize(
    ("joules", "unit", "shown"),
    [
        (0.0, "µJ", 0),
        (5e-4, "µJ", 500),
        (0.25, "mJ", 250),
        (1.0, "J", 1),
        (10_799, "J", 10_799),
        (10_800, "Wh", 3),
        (3.6e7, "kWh", 10),
    ],
)
def test_energy_is_in_joules_up_to_three_watt_hours(joules: float, unit: str, shown: float) -> None:
    scale = energy_scale(joules)

    assert scale.unit == unit
    assert scale.of(joules) == pytest.approx(shown)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (90, "90 s"),
        (5400, "90 min"),
        (19 * HOUR, "19 h"),
        (71 * HOUR, "71 h"),
        (72 * HOUR, "3 days"),
        (336 * HOUR, "14 days"),
    ],
)
def test_time_is_in_hours_up_to_three_days(seconds: float, text: str) -> None:
    assert with_unit(time_scale(seconds), seconds) == text


def test_an_estimate_is_scaled_with_its_interval() -> None:
    watt_hours = Scale("Wh", 3600.0)

    assert watt_hours.estimate(Estimate(7200.0, 3600.0, 10_800.0, 3)) == Estimate(2.0, 1.0, 3.0, 3)
    assert watt_hours.estimate(Estimate(1800.0, None, None, 1)) == Estimate(0.5, None, None, 1)
    assert watt_hours.estimate(None) is None


def test_a_fleets_own_unit_stays_as_it_is() -> None:
    made = two_arms(unit="mJ")

    assert made.unit == "mJ"
    assert made.energy_scale(1e9) == Scale("mJ")
    assert not made.clock.is_known
    assert [row.energy_spent for row in made.rows] == [None, None]
    assert [row.time_to_goal for row in made.rows] == [None, None]


def test_rounds_without_a_length_have_no_time() -> None:
    assert not clock_of({"a": 60.0, "b": None}, {"a": 5, "b": 5}).is_known
    assert NO_CLOCK.places("a", np.arange(3)).tolist() == [0, 1, 2]


def test_facts_of_a_fleet_in_joules_are_in_joules_and_seconds() -> None:
    made = hours_and_joules()
    greedy, myopic = made.rows

    assert made.unit == "J"
    # A turn costs 2,000 J or 1,000 J: 5 and 6 turns, and 6.
    assert (greedy.energy_spent, myopic.energy_spent) == (11_000, 6_000)
    assert greedy.time_to_goal is not None
    assert greedy.time_to_goal.mean == pytest.approx((2.25 + 2) / 2 * HOUR)
    # After 2.25 rounds 4.25 turns, after 2 rounds 4.
    assert greedy.energy_to_goal is not None
    assert greedy.energy_to_goal.mean == pytest.approx((4.25 + 4) / 2 * 2000)


def test_the_table_shows_hours_and_joules_or_watt_hours() -> None:
    made = hours_and_joules()
    cells = {line.label: [line.cell(row).text for row in made.rows] for line in quantities(made)}

    assert cells["energy to goal [Wh]"][1] == "0.833"  # 3,000 J
    assert cells["time to goal [h]"] == ["2.1", "1.50"]
    assert cells["energy spent [Wh]"] == ["3.06", "1.67"]
    assert "energy lost" not in cells


def test_what_was_lost_has_a_line_where_any_arm_lost_some() -> None:
    made = hours_and_joules(lost={"greedy": 10_000})  # of 2 * 20,000 or 2 * 24,000 that were harvested besides
    cells = {line.label: [line.cell(row).text for row in made.rows] for line in quantities(made)}

    assert made.rows[0].lost == pytest.approx((10 / 50 + 10 / 58) / 2)
    assert cells["energy lost"] == ["18.6 %", "0.0 %"]


def test_quanta_may_differ_but_units_are_not_put_beside_joules() -> None:
    ours, others = made_trial("a", 0, [0.5, 0.6], [1, 1]), made_trial("b", 0, [0.5, 0.6], [1, 1])
    made = compare("quanta", [in_joules(ours, 0.5), in_joules(others, 2.0)], ACCURACY)

    assert [row.energy_spent for row in made.rows] == [1.0, 4.0]
    with pytest.raises(UserError, match="different units cannot be put together: joules, units"):
        compare("mixed", [in_joules(ours), others], ACCURACY)
    named = replace(others, participation=replace(others.participation, unit="J"))
    with pytest.raises(UserError, match="different units cannot be put together: J, joules"):
        compare("mixed", [in_joules(ours), named], ACCURACY)


def test_arms_with_rounds_of_other_lengths_are_compared_in_time() -> None:
    made = two_lengths()
    short, long = made.rows

    assert made.clock.differs
    assert made.clock.places("long", np.array([1, 2])).tolist() == [2, 4]  # [h]
    assert short.time_to_goal == long.time_to_goal
    assert short.rounds_to_goal is not None and short.rounds_to_goal.mean == 2
    assert long.rounds_to_goal is not None and long.rounds_to_goal.mean == 1
    assert long.difference is not None and long.difference.mean == 0  # both end after four hours
    assert long.measured_slowdown is not None and long.measured_slowdown.mean == 1
    # With as many clients a round and half as many rounds, noise alone makes it take twice as long.
    assert long.noise_limit == pytest.approx(2)
    (curve,) = difference_curves(made)
    assert curve.rounds.tolist() == [0, 1, 2]
    assert np.abs(curve.gaps).max() < 1e-12
    groups = {line.group for line in quantities(made)}
    assert "Time, relative to short" in groups
    assert not math.isnan(made.frame().loc["long", "time_to_goal"])
