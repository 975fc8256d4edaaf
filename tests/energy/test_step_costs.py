"""What turns of fewer local steps cost: prices, refusals, and a ledger that is settled by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.energy import Bernoulli, Fleet, Ledger, Replay
from ehfl.randomness import TILE
from ehfl.validation import InvalidValue

NOTHING = Replay(np.zeros((9, 3), int))


def test_a_turn_of_fewer_steps_costs_so_much_less() -> None:
    fleet = Fleet(3, NOTHING, cost=[10, 20, 7], steps=5, step_cost=[1, 4, 0])

    assert [fleet.cost_of(client, steps=5) for client in range(3)] == [10, 20, 7]
    assert [fleet.cost_of(client, steps=1) for client in range(3)] == [6, 4, 7]
    assert fleet.cost_of(1) == 20


def test_participants_pay_for_the_steps_they_take() -> None:
    fleet = Fleet(3, NOTHING, initial=10, cost=10, steps=5, step_cost=2)
    ledger = Ledger(fleet, rounds=9, seed=0)
    ledger.settle(0, np.array([0, 2]), steps=np.array([1, 4]))

    assert ledger.energy.tolist() == [8, 10, 2]
    assert (ledger.paid, ledger.totals().spent) == (10, 10)


def test_who_lacks_the_price_of_its_steps_is_named_and_nobody_pays() -> None:
    fleet = Fleet(3, NOTHING, initial=[10, 10, 3], cost=10, steps=5, step_cost=2)
    ledger = Ledger(fleet, rounds=9, seed=0)

    settled = ledger.settle(0, np.array([0, 2]), steps=np.array([5, 2]))
    assert (settled.unable, settled.held) == (2, 3)
    assert ledger.energy.tolist() == [10, 10, 3]


def test_on_mains_power_what_the_steps_cost_is_counted_apart() -> None:
    ledger = Ledger(Fleet(3, NOTHING, initial=10, cost=10, steps=5, step_cost=2), rounds=9, seed=0)
    ledger.settle(0, np.array([1]), steps=np.array([3]), mains_powered=True)

    assert ledger.energy.tolist() == [10, 10, 10]
    assert (ledger.totals().spent, ledger.totals().mains) == (0, 6)


def test_a_device_settles_its_own_steps_as_the_whole_fleet_does() -> None:
    fleet = Fleet(3, Bernoulli(0.5), initial=30, cost=[10, 9, 8], steps=5, step_cost=[2, 1, 0])
    whole, own = Ledger(fleet, 9, seed=4), Ledger(fleet, 9, seed=4, clients=range(1, 2))
    for t in range(3):
        whole.settle(t, np.array([0, 1]), steps=np.array([2, 3]))
        own.settle(t, np.array([0]), steps=np.array([3]))

    assert own.energy[0] == whole.energy[1]


@given(
    steps=st.lists(st.integers(1, 5), min_size=4, max_size=4),
    efficiency=st.sampled_from([1.0, 0.7]),
    leak=st.sampled_from([0.0, 0.01]),
    large=st.booleans(),
)
def test_all_steps_are_a_whole_turn_and_energy_is_conserved(
    steps: list[int], efficiency: float, leak: float, large: bool
) -> None:
    n = TILE + 5 if large else 7
    fleet = Fleet(n, Bernoulli(0.9), initial=40, cost=10, capacity=40, steps=5, step_cost=2, efficiency=efficiency,
                  leak=leak)  # fmt: skip
    chosen = np.array([0, 1, 4, n - 1])
    by_step, whole, all_steps = (Ledger(fleet, 3, seed=1) for _ in range(3))
    for t in range(3):
        by_step.settle(t, chosen, steps=np.array(steps))
        whole.settle(t, chosen)
        all_steps.settle(t, chosen, steps=np.full(4, 5))

    totals = by_step.totals()
    totals.check()
    assert totals.spent == 3 * sum(10 - 2 * (5 - k) for k in steps)
    assert np.array_equal(whole.energy, all_steps.energy) and whole.totals() == all_steps.totals()


def test_joules_become_quanta_that_save_no_more_than_a_step_does() -> None:
    fleet = Fleet.in_joules(2, Bernoulli(0.5), capacity=100, cost=[1.0, 2.0], round_length=60, arrival=1, quantum=0.01,
                            steps=5, step_cost=[0.0199, 0.25])  # fmt: skip

    assert fleet.step_costs is not None and fleet.step_costs.step.tolist() == [1, 25]
    assert fleet.cost_of(1, steps=3) == 150


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"steps": 5}, "step_cost must be given with steps, got nothing"),
        ({"step_cost": 1}, "steps must be given with step_cost, got nothing"),
        ({"steps": 0, "step_cost": 1}, "steps must be a whole number >= 1, got 0"),
        ({"steps": 5, "step_cost": 0.5}, "step_cost must be a whole number in .*, got 0.5"),
        ({"steps": 5, "step_cost": [1, 2]}, r"step_cost must be one number or one per client \(3\), got a list of 2"),
        ({"steps": 5, "step_cost": -1}, r"step_cost must be a whole number in .*, got -1"),
        ({"steps": 6, "step_cost": 2}, r"such that 5 of them are less than the cost of a turn of 6 steps, got 2"),
        ({"steps": 6, "step_cost": [0, 1, 2]}, r"such that 5 of them are less than .*, got 2 for client 2"),
    ],
)
def test_steps_that_do_not_fit_a_turn_are_refused(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Fleet(3, NOTHING, cost=10, **facts)


def test_steps_of_a_fleet_that_does_not_say_what_they_cost_are_refused() -> None:
    with pytest.raises(InvalidValue, match="steps must be left out where the fleet does not say what a step costs"):
        Ledger(Fleet(3, NOTHING, initial=5), 9, seed=0).settle(0, np.array([0]), steps=np.array([1]))
