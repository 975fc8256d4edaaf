"""Comparisons of fleets in joules, from the spec to the table: quanta and round lengths that differ between arms."""

from __future__ import annotations

from pathlib import Path

import pytest

import ehfl
from ehfl.analysis import Comparison

SUN = {"name": "sun", "watts": 0.02, "start": "06-01"}


def compared(folder: Path, harvest: dict[str, object]) -> Comparison:
    """Return four rounds of an hour against two of two, which cost twice as much."""
    arms = [{"label": "short"}, {"label": "long", "rounds": 2, "fleet": {"round_length": "2 h", "cost": 7}}]
    fleet = {"clients": 3, "round_length": "1 h", "capacity": 60, "initial": "50 %", "cost": 5} | harvest
    learning = {"task": "quadratic", "step_size": 0.05}
    spec = {"name": "lengths", "rounds": 4, "seeds": 2, "fleet": fleet, "learning": learning, "arms": arms}
    return ehfl.compare(spec | {"evaluation": {"every": 1}}, runs=folder, jobs=1)


def test_under_watts_arms_with_other_rounds_met_the_same_weather(tmp_path: Path) -> None:
    found = compared(tmp_path, {"harvest": SUN})
    played = [arm.trials[0].participation for arm in found.arms]

    assert [one.quantum for one in played] == [0.005, 0.005]
    assert found.shared == ("weather", "data", "first model")
    assert found.rows[1].difference is not None  # both were trained for four hours
    # What came in these hours is the same energy, in rounds of either length; each rounds to a quantum.
    assert played[0].totals.harvested == pytest.approx(played[1].totals.harvested, abs=3 * 4)


def test_under_units_a_longer_round_is_other_weather(tmp_path: Path) -> None:
    found = compared(tmp_path, {"rate": 0.5, "arrival": 10})

    assert found.shared == ("data", "first model")
    assert found.rows[1].difference is None
    assert [len(world.arms) for world in found.worlds] == [1, 1]
    assert found.unit == "J"
