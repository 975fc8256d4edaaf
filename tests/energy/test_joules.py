"""Fleets in joules: quanta, the paper's units as a special case, what levels mean, and what is refused."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ehfl import Bernoulli, Fleet, Sun, simulate
from ehfl.arrays import FloatArray
from ehfl.quantities import is_quantity, quantity
from ehfl.validation import InvalidValue


@dataclass(frozen=True)
class Lamp:
    """So many watts, always."""

    power: float = 0.01

    def watts(self, seed: int, rounds: range, clients: range, round_length: float) -> FloatArray:
        return np.full((len(rounds), len(clients)), self.power)

    def mean_watts(self, n_clients: int) -> FloatArray:
        return np.full(n_clients, self.power)


def test_the_papers_units_are_a_special_case_to_the_bit() -> None:
    plain = Fleet(10, Bernoulli(0.5), capacity=4, initial=2)
    joules = Fleet.in_joules(10, Bernoulli(0.5), capacity=4, initial=2, cost=1, round_length=1, quantum=1, arrival=1)
    for scheduler in ("myopic", "greedy", "round-robin"):
        one, other = (simulate(fleet, scheduler, 200, seed=3, record_energy=True) for fleet in (plain, joules))
        assert np.array_equal(one.indices, other.indices)
        assert np.array_equal(one.energy, other.energy)  # type: ignore[arg-type]
        assert one.totals == other.totals


def test_finer_quanta_change_nothing_where_all_is_whole() -> None:
    coarse, fine = (
        Fleet.in_joules(10, Bernoulli(0.5), capacity=4, cost=1, round_length=1, quantum=quantum, arrival=1)
        for quantum in (1, 1e-3)
    )
    one, other = (simulate(fleet, "myopic", 200, seed=1) for fleet in (coarse, fine))

    assert np.array_equal(one.indices, other.indices)
    assert one.totals.spent * 1000 == other.totals.spent


@pytest.mark.parametrize(
    ("cost", "quantum", "unit"), [(12, 0.01, "10 mJ"), (1, 1e-3, "mJ"), (0.0042, 2e-6, "2 µJ"), (7e4, 50, "50 J")]
)
def test_the_cheapest_round_is_at_least_a_thousand_quanta(cost: float, quantum: float, unit: str) -> None:
    fleet = Fleet.in_joules(2, Lamp(), capacity=[cost * 3, cost * 5], cost=cost, round_length=60)

    assert fleet.quantum == pytest.approx(quantum)
    assert fleet.unit == unit
    assert fleet.cost_of(0) * quantum == pytest.approx(cost)
    assert fleet.cost_of(0) >= 1000


def test_power_becomes_quanta_without_drift() -> None:
    fleet = Fleet.in_joules(5, Lamp(0.0123456), capacity=1e4, cost=1, round_length=60)
    units = fleet.harvest.units(0, range(10_000), range(5))

    assert fleet.quantum is not None
    assert (units.sum(axis=0) * fleet.quantum) == pytest.approx(np.full(5, 0.0123456 * 60 * 10_000), abs=20e-3)


def test_levels_count_what_lies_above_the_cut_off() -> None:
    fleet = Fleet.in_joules(1, Lamp(), capacity=100, initial=30, cost=10, round_length=60, reserve=0.25, quantum=1)

    assert fleet.capacity == 75
    assert fleet.initial == 5


def test_self_discharge_is_of_the_whole_charge_and_stops_at_the_cut_off() -> None:
    month = 30 * 86_400
    fleet = Fleet.in_joules(1, Lamp(0), capacity=1000, initial=1000, cost=1, round_length=month, self_discharge=0.1,
                            reserve=0.5, quantum=1)  # fmt: skip
    played = simulate(fleet, "round-robin", rounds=1, target=1)

    assert played.final_energy.tolist() == [500 - 1 - 100]  # 999 J of charge lose 99.9 J; the offset makes it 100
    assert played.totals.lost == 100


def test_standby_drains_a_battery_that_nobody_uses() -> None:
    fleet = Fleet.in_joules(1, Lamp(0), capacity=100, initial=100, cost=50, round_length=10, standby=0.5, quantum=1)
    played = simulate(fleet, "myopic", rounds=12, record_energy=True)

    assert played.energy is not None
    assert np.diff(played.energy[:, 0]).tolist() == [-55] + [-5] * 9 + [0] * 2
    assert played.totals.lost == 50


def test_participation_knows_joules_and_seconds(tmp_path: Any) -> None:
    fleet = Fleet.in_joules(3, Lamp(1), capacity=100, cost=2, round_length=7)
    played = simulate(fleet, "myopic", rounds=5)
    played.save(tmp_path / "p.npz")

    again = type(played).load(tmp_path / "p.npz")
    assert (again.quantum, again.round_length, again.unit) == (0.002, 7.0, "2 mJ")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"cost": 40, "capacity": [50, 25]}, "client 1 can never take part: a round costs 40 J, its battery holds 25"),
        ({"capacity": 5}, "clients can never take part: a round costs 10 J, a battery holds 5 J"),
        ({"quantum": 3}, "quantum must be one of which a round's cost (10 J) is a whole number to 0.1 %, such as 0.01"),
        ({"quantum": 1e-9}, "quantum must be at least 9.31e-08 J, so that the largest battery (100 J) can be counted"),
        ({"capacity": 1e9}, "quantum must be given: none is at least 0.931 J, so that the largest battery (278 kWh)"),
        ({"arrival": 3}, "arrival must be left out where a harvest is in watts, got 3"),
        ({"harvest": Bernoulli(0.5)}, "arrival must be given, what a unit of the harvest brings [J]"),
        ({"initial": 200}, "initial must be at most the capacity, got 200"),
        ({"reserve": 1}, "reserve must be in [0, 1), got 1"),
        ({"standby": -1}, "standby must be in [0, inf), got -1"),
        ({"round_length": 0}, "round_length must be a number in [1e-3, 31536000], got 0"),
        ({"cost": 0}, "cost must be in [1e-12, inf), got 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(changes: dict[str, Any], line: str) -> None:
    given: dict[str, Any] = {"harvest": Lamp(), "capacity": 100, "cost": 10, "round_length": 60} | changes
    with pytest.raises(ValueError, match=re.escape(line)):
        Fleet.in_joules(2, **given)


def test_negative_power_is_refused() -> None:
    fleet = Fleet.in_joules(2, Lamp(1), capacity=100, cost=10, round_length=60)
    object.__setattr__(fleet.harvest, "power", Lamp(-1))
    message = r"watts must be finite and at least 0, got -1.* for client 0 in round 2"
    with pytest.raises(ValueError, match=message):
        simulate(fleet, "myopic", rounds=3)


def test_a_harvest_in_watts_needs_a_fleet_in_joules() -> None:
    with pytest.raises(ValueError, match="harvest must be one that counts in units; with one in watts"):
        Fleet(2, Lamp())  # type: ignore[arg-type]


def test_messages_speak_of_joules_where_quanta_have_a_size() -> None:
    joules = Fleet.in_joules(2, Lamp(), capacity=40, cost=4, round_length=60)

    assert joules.amount(1_500) == joules.amount(1_500, named=False) == "3 J"  # of 2 mJ
    assert (Fleet(2, Bernoulli(0.5)).amount(3), Fleet(2, Bernoulli(0.5)).amount(3, named=False)) == ("3 units", "3")


def test_an_aged_battery_holds_its_share_above_the_same_cut_off() -> None:
    fleet = Fleet.in_joules(
        2, Sun(1), round_length=3600, capacity=1000, initial=900, cost=10, quantum=1, reserve=0.1, health=[1.0, 0.5]
    )

    assert fleet.capacity.tolist() == [900, 450]  # type: ignore[union-attr]
    assert fleet.initial.tolist() == [800, 450]  # type: ignore[union-attr]  # what does not fit is not there
    with pytest.raises(InvalidValue, match=r"clients can never take part"):
        Fleet.in_joules(2, Sun(1), round_length=3600, capacity=11, cost=10, health=0.8)


@pytest.mark.parametrize(
    "text", ["2000 mAh at 3.7 V", "2000mAh 3.7V", "2 Ah @ 3.7 V", "2Ah x 3.7V", "7.4 Wh", "26.64 kJ"]
)
def test_a_battery_may_be_given_as_its_charge_and_voltage(text: str) -> None:
    assert is_quantity(text)
    assert quantity("capacity", text, "J") == pytest.approx(26_640)


def test_a_charge_alone_is_refused() -> None:
    with pytest.raises(
        InvalidValue, match=r'^capacity must be a charge with its voltage, as in "2000 mAh at 3.7 V", got'
    ):
        quantity("capacity", "2000 mAh", "J")
    with pytest.raises(InvalidValue, match=r"^standby must be a number .W."):
        quantity("standby", "2000 mAh at 3.7 V", "W")
