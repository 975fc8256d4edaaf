"""`ehfl.plan` and `ehfl.audit` from Python: the numbers of their commands, objects in place of names, tables."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import ehfl
from ehfl.cli import main
from ehfl.experiment import read_spec
from ehfl.report import plan_facts
from ehfl.validation import InvalidValue

FLEET: dict[str, Any] = {"clients": 12, "capacity": 3, "rate": 0.4}


def test_plan_gives_the_numbers_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--clients 12 --capacity 3 --rate 0.4 --rounds 60 --free battery --sustain 80 --json"
    with pytest.raises(SystemExit):
        main(["plan", *options.split(), "--want", "4 clients in 90 % of rounds"])
    shown = json.loads(capsys.readouterr().out)

    found = ehfl.plan(fleet=FLEET, rounds=60, want="4 clients in 90 % of rounds", free="battery", sustain=0.8)

    assert json.loads(json.dumps(plan_facts(found))) == {**shown, "name": found.name}


def test_plan_and_simulate_take_objects() -> None:
    fleet = ehfl.Fleet(clients=12, harvest=ehfl.Bernoulli(0.4), capacity=3)

    found = ehfl.plan(fleet=fleet, schedulers=[ehfl.Myopic(4), ehfl.Greedy()], rounds=60, seeds=[5, 6])

    assert found.seeds == (5, 6) and [one.label for one in found.outlooks] == ["myopic:4", "greedy"]
    for seed, counts in zip(found.seeds, found.outlooks[0].counts, strict=True):
        assert counts.tolist() == ehfl.simulate(fleet, ehfl.Myopic(4), 60, seed).counts.tolist()


def test_a_plan_is_a_table() -> None:
    found = ehfl.plan(fleet=FLEET, rounds=60, sustain=0.8)
    figures = found.frame()

    assert list(figures.index) == ["myopic", "greedy"]
    assert figures.loc["greedy", "mean"] == found.outlooks[1].counts.mean()
    assert figures.loc["myopic", "sustained"] == found.sustained["myopic"].value
    assert "count_on_95" in str(found) and "<table" in found._repr_html_()


def test_a_spec_keeps_its_seeds_and_overrides_change_it() -> None:
    spec = read_spec({"schedulers": ["greedy"], "fleet": FLEET, "rounds": 20, "seeds": [3]})

    assert ehfl.plan(spec).seeds == (3,)
    assert ehfl.plan(spec, fleet={"clients": 7}).fleet.clients == 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"free": "battery"}, "^free must be left out unless want is given"),
        ({"sustain": 99}, r"^sustain must be .*\(0, 1\], got 99"),
        ({"want": "many"}, "^want must be as in"),
        ({"want": "2 clients in 50 % of rounds", "free": "luck"}, "^free must be one of battery, panel"),
    ],
)
def test_what_cannot_be_planned_is_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        ehfl.plan(fleet=FLEET, rounds=20, **given)


def test_audits_are_tables() -> None:
    found = ehfl.audit({"seeds": 1, "rounds": 30}, with_floor=False, schedulers=[ehfl.Greedy()])

    figures, clients = found.frame(), found.clients()

    assert figures.loc["greedy", "chi_square"] == found[0].chi_square.mean and bool(figures.loc["greedy", "exact"])
    assert clients.loc["greedy", "weights"].tolist() == found[0].chances.weights.tolist()
    assert "chi_square" in str(found) and "<table" in found._repr_html_()


FLEETS = [
    ehfl.Fleet(4, ehfl.Poisson(0.7), capacity=[2, 3, 4, np.inf], initial=[0, 1, 2, 3], cost=2, unit="mJ"),
    ehfl.Fleet.in_joules(3, ehfl.Sun(0.5), capacity=3600, cost=[300, 200, 100], round_length=3600, initial=900,
                         efficiency=0.9, self_discharge=0.05, reserve=0.1, standby=0.01),
    ehfl.Fleet.in_joules(3, ehfl.Bernoulli(0.5), capacity=100, cost=12, round_length=60, arrival=20, quantum=0.5),
]  # fmt: skip


@pytest.mark.parametrize("fleet", FLEETS, ids=["units", "joules", "arrivals"])
def test_a_fleet_stands_for_its_section_of_a_spec(fleet: ehfl.Fleet) -> None:
    spec = {"schedulers": ["greedy"], "fleet": {"clients": 9, "rate": 0.1, "unit": "kJ"}}

    made = ehfl.plan(spec, fleet=fleet, rounds=20).fleet

    for name in ("clients", "unit", "quantum", "round_length", "capacity", "initial", "cost"):
        assert np.all(np.asarray(getattr(made, name)) == np.asarray(getattr(fleet, name))), name
    for name in ("efficiency", "leak", "drain"):
        np.testing.assert_allclose(getattr(made, name), getattr(fleet, name), rtol=1e-9)
    played = [ehfl.simulate(one, "greedy", 20).counts.tolist() for one in (made, fleet)]
    assert played[0] == played[1]


def test_a_fleet_that_no_spec_describes_is_one_line() -> None:
    leaky = ehfl.Fleet(clients=4, harvest=ehfl.Bernoulli(0.5), capacity=5, leak=0.1)

    with pytest.raises(InvalidValue, match=r"^fleet must be one in joules"):
        ehfl.plan(fleet=leaky, rounds=20)


@pytest.mark.slow
def test_other_years_and_another_month_of_installation_give_the_same_battery_within_the_interval() -> None:
    """Few years leave an end open; any two intervals have values in common, and both hold the answer of many years."""

    def battery(first: int, years: int, start: str = "first") -> tuple[float, float, float]:
        harvest = {"name": "sun", "watts": 0.4, "start": start}
        fleet = {"clients": 4, "round_length": "6 h", "capacity": "1 Wh", "cost": "900 J", "harvest": harvest}
        found = ehfl.plan(fleet=fleet, scheduler="myopic", seeds=list(range(first, first + years)),
                     want="3 clients in 99 % of rounds", free="battery", jobs=1).answer  # fmt: skip
        assert found is not None and found.found
        low, high = (
            end if end is not None else other for end, other in zip(found.interval, (0, math.inf), strict=True)
        )
        return low, found.value, high

    many = battery(0, 29)
    few = [battery(first, 3) for first in (0, 3, 6)]
    other, july = battery(100, 29), battery(0, 29, start="07-01")

    assert max(low for low, *_ in (many, other, july, *few)) <= min(high for *_, high in (many, other, july, *few))
    for low, value, high in (other, july):
        assert low <= many[1] <= high and many[0] <= value <= many[2]
