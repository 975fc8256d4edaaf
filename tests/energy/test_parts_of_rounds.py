"""Rounds of more than an hour: losses and harvest are settled in parts of at most an hour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl import simulate
from ehfl.energy import Bernoulli, Fleet, Ledger, Sun
from ehfl.energy.feed import Weather
from ehfl.flower.node.account import Account
from ehfl.planning.budget import budget_of
from ehfl.randomness import TILE

DAY = 24 * 3600
NOBODY = np.empty(0, np.int32)


def panels(hours: int, standby: float, **more: Any) -> Fleet:
    """A panel of 0.5 W, a battery of 1 Wh, turns of 2 kJ."""
    given = {"capacity": 3600, "cost": 2000, "quantum": 2.0, "initial": 3600} | more
    return Fleet.in_joules(1, Sun(0.5, weather="typical"), round_length=hours * 3600, standby=standby, **given)


def turns_on(fleet: Fleet, rounds: int, every: int = 1) -> list[int]:
    """Return the rounds, of each `every`-th one, whose turn the only client can pay."""
    ledger, turns = Ledger(fleet, rounds, seed=0), []
    for t in range(rounds):
        able = t % every == 0 and ledger.energy[0] >= fleet.costs[0]
        ledger.settle(t, np.arange(able, dtype=np.int32))
        turns += [t] * int(able)
    ledger.totals().check()
    return turns


@pytest.mark.parametrize(("standby", "expected"), [(0.02, 331), (0.05, 280), (0.08, 1)])
def test_a_day_round_has_the_turns_of_its_hours(standby: float, expected: int) -> None:
    by_day = turns_on(panels(24, standby), 365)
    by_hour = turns_on(panels(1, standby), 8760, every=24)

    assert [24 * t for t in by_day] == by_hour
    assert len(by_day) == expected


@given(st.sampled_from([2, 5, 24, 100]), st.floats(0, 0.3), st.floats(0.5, 1), st.floats(0, 0.5), st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_every_quantum_of_a_long_round_is_accounted_for(
    hours: int, standby: float, efficiency: float, discharge: float, seed: int
) -> None:
    fleet = Fleet.in_joules(
        3, Sun([0.1, 0.5, 2]), round_length=hours * 3600, capacity=3600, cost=500, reserve=0.1, standby=standby,
        efficiency=efficiency, self_discharge=discharge)  # fmt: skip
    ledger, weather = Ledger(fleet, 10, seed), Weather(fleet, range(3), 10, seed)
    for t in range(10):
        settled = ledger.settle(t, np.flatnonzero(ledger.energy >= fleet.costs).astype(np.int32))
        parts = np.sum([units for _, units in weather.of_round(t)], axis=0)
        assert parts.tolist() == fleet.harvest.units(seed, range(t, t + 1), range(3))[0].tolist()
        assert settled.harvested == parts.sum()
    ledger.totals().check()


def test_losses_do_not_depend_on_the_length_of_rounds() -> None:
    left = []
    for hours in (1, 2, 24, 240):
        fleet = panels(hours, standby=0.07, self_discharge=0.5, reserve=0.2, efficiency=0.9, cost=1000)
        ledger = Ledger(fleet, 240 // hours, seed=0)
        for t in range(240 // hours):
            ledger.settle(t, NOBODY)
        left.append(ledger.totals())

    assert left == [left[0]] * 4
    assert left[0].lost > 0


def test_units_arrive_evenly_over_the_parts_of_a_round() -> None:
    fleet = Fleet.in_joules(
        1, Bernoulli(1), round_length=4 * 3600, arrival=10, capacity=100, cost=5, quantum=1, standby=1e-9
    )
    parts = [[int(units[0]) for _, units in Weather(fleet, range(1), 2, 0).of_round(t)] for t in range(2)]

    assert parts == [[2, 3, 2, 3]] * 2
    assert fleet.rates.tolist() == [10]


def test_a_round_of_an_hour_or_without_losses_is_settled_at_once() -> None:
    assert panels(1, standby=0.02).parts == 1
    assert panels(24, standby=0).parts == 1
    assert panels(24, standby=0.02).parts == 24
    assert Fleet.in_joules(1, Sun(1), round_length=5401, capacity=9, cost=1, standby=1).parts == 2


def test_means_are_those_of_whole_rounds() -> None:
    hour, day = panels(1, 0.02), panels(24, 0.02)

    assert day.drain_a_round[0] == 24 * hour.drain_a_round[0]
    assert budget_of(day, 365).harvest[0] == pytest.approx(24 * budget_of(hour, 8760).harvest[0])


def test_compiled_parts_are_the_plain_ones() -> None:
    """A fleet of more than a tile is settled by kernels, a device of it alone in NumPy."""
    n = TILE + 5
    fleet = Fleet.in_joules(
        n, Sun(0.5, start="06-01"), round_length=12 * 3600, capacity=3600, cost=100, standby=0.03, efficiency=0.8
    )
    whole, alone = Ledger(fleet, 2, seed=3), Ledger(fleet, 2, seed=3, clients=range(n - 1, n))
    for t in range(2):
        whole.settle(t, np.array([n - 1] * t, np.int32))
        alone.settle(t, np.array([0] * t, np.int32))

    assert alone.energy[0] == whole.energy[n - 1] > 0
    whole.totals().check()


def test_a_device_that_keeps_its_account_settles_the_same_parts(tmp_path: Path) -> None:
    fleet = Fleet.in_joules(2, Sun(0.5), round_length=DAY, capacity=3600, cost=1000, standby=0.03, efficiency=0.8)
    played = simulate(fleet, "greedy", rounds=6, seed=1)
    account = Account(tmp_path, "0a1b2c3d", fleet, client=1, rounds=6, seed=1)
    for t in range(6):
        if 1 in played.clients(t):
            account.pay(t)

    assert account.at(6).energy == played.final_energy[1]
