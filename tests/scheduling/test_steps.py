"""Turns of fewer local steps: AdaptiveSteps by hand, and steps on their way from a scheduler to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.energy import Bernoulli, Fleet, Replay
from ehfl.randomness import TILE
from ehfl.scheduling import (
    AdaptiveSteps,
    Course,
    Decider,
    Lockstep,
    MostRoundsLeft,
    Participation,
    Scheduler,
    SchedulerError,
    Threshold,
    View,
    check_scheduler,
    simulate,
)
from ehfl.validation import BrokenRules


def view_of(*energy: int, **facts: Any) -> View:
    return View(0, np.array(energy, np.int32), **facts)


def rich(clients: int, rounds: int = 40, **facts: Any) -> Fleet:
    """Return a fleet that harvests 0 to 8 a round, of which a turn of five steps costs 10, and one of one step 6."""
    harvest = np.random.default_rng(3).integers(0, 9, (rounds, clients))
    return Fleet(clients, Replay(harvest), **{"capacity": 30, "cost": 10, "steps": 5, "step_cost": 1} | facts)


# by hand


def test_each_takes_as_many_steps_as_it_can_pay_for() -> None:
    """A turn of 5 steps costs 10, of 1 step 6: with 5 one has no turn, with 6 one step, from 10 on all."""
    view = view_of(5, 6, 7, 9, 10, 25, cost=10, local_steps=5, step_cost=1, target=6)
    chosen = AdaptiveSteps().select(view)

    assert chosen.tolist() == [1, 2, 3, 4, 5]
    assert AdaptiveSteps().steps(view, chosen).tolist() == [1, 2, 4, 5, 5]


def test_a_step_that_is_only_partly_paid_for_is_not_taken() -> None:
    view = view_of(14, 15, 16, 17, cost=20, local_steps=3, step_cost=3, target=4)

    assert AdaptiveSteps().select(view).tolist() == [0, 1, 2, 3]
    assert AdaptiveSteps().steps(view, np.arange(4)).tolist() == [1, 1, 1, 2]


def test_costs_may_be_each_clients_own() -> None:
    cost, step_cost = np.array([10, 10, 10]), np.array([2, 1, 0])
    view = view_of(8, 8, 8, cost=cost, local_steps=4, step_cost=step_cost, target=3)

    assert AdaptiveSteps().select(view).tolist() == [0, 1]  # steps that cost nothing save nothing
    assert AdaptiveSteps().steps(view, np.array([0, 1])).tolist() == [3, 2]


def test_the_target_richest_take_part_and_the_reserve_stays() -> None:
    view = view_of(19, 16, 15, 30, cost=10, local_steps=5, step_cost=1, target=2)

    assert AdaptiveSteps().select(view).tolist() == [0, 3]
    assert AdaptiveSteps(reserve=1, target=4).select(view).tolist() == [0, 1, 3]
    assert AdaptiveSteps(reserve=1, target=4).steps(view, np.array([0, 1, 3])).tolist() == [4, 1, 5]


def test_where_a_step_has_no_cost_turns_are_whole() -> None:
    fleet = Fleet(9, Bernoulli(0.7), cost=[1, 2, 3] * 3, capacity=9)
    pairs: list[tuple[Scheduler, Scheduler]] = [
        (AdaptiveSteps(), MostRoundsLeft()), (AdaptiveSteps(reserve=1), Threshold(1))
    ]  # fmt: skip

    for one, other in pairs:
        first, second = (simulate(fleet, scheduler, 60, seed=2) for scheduler in (one, other))
        assert np.array_equal(first.indices, second.indices) and first.steps is None


# simulations


@given(seed=st.integers(0, 99), reserve=st.sampled_from([0.0, 0.5, 1.0]), step_cost=st.integers(0, 2))
def test_a_turn_pays_for_its_steps_and_takes_all_that_it_can(seed: int, reserve: float, step_cost: int) -> None:
    fleet = rich(8, step_cost=step_cost)
    played = simulate(fleet, AdaptiveSteps(target=3, reserve=reserve), 40, seed, record_energy=True)
    played.totals.check()
    assert played.steps is not None and played.energy is not None

    for t in range(40):
        clients, steps = played.clients(t), played.steps_of(t)
        assert steps is not None
        prices = 10 - step_cost * (5 - steps)
        held = played.energy[t][clients]
        assert played.spent[t] == prices.sum()
        assert (held - prices >= 10 * reserve).all()
        assert ((steps == 5) | (held - prices - step_cost < 10 * reserve)).all()


def test_a_large_fleet_takes_the_steps_of_a_small_one() -> None:
    """The same four clients, in a fleet whose others never harvest, and which is settled by kernels."""
    harvest = np.random.default_rng(3).integers(0, 9, (20, 4))
    wide = np.zeros((20, TILE + 9), int)
    wide[:, :4] = harvest
    small, large = (
        simulate(Fleet(rows.shape[1], Replay(rows), cost=10, steps=5, step_cost=1), AdaptiveSteps(4), 20)
        for rows in (harvest, wide)
    )

    assert np.array_equal(small.indices, large.indices)
    assert small.steps is not None and large.steps is not None and np.array_equal(small.steps, large.steps)
    assert small.totals == large.totals


def test_shorter_turns_let_more_clients_take_part() -> None:
    fleet = rich(12, rounds=200, capacity=15)
    short, whole = (simulate(fleet, scheduler, 200, target=8) for scheduler in (AdaptiveSteps(), MostRoundsLeft()))

    assert short.steps is not None and short.steps.min() < 5
    assert short.counts.mean() > whole.counts.mean()


# the rules


class Eager:
    """Everyone who can pay for a whole turn, with as many steps as it is told."""

    def __init__(self, steps: Any) -> None:
        self._steps = steps

    def select(self, view: View) -> Any:
        return view.able()

    def steps(self, view: View, clients: Any) -> Any:
        return self._steps(view, clients)


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        (lambda view, clients: np.zeros(clients.size, int), r"must return steps in \[1, 5\]: round 0, got 0"),
        (lambda view, clients: np.full(clients.size, 6), r"must return steps in \[1, 5\]: round 0, got 6"),
        (
            lambda view, clients: [1],
            r"must return a number of steps for each client: round 0, got int64 of shape \(1,\)",
        ),
        (
            lambda view, clients: np.ones(clients.size),
            "must return a number of steps for each client: round 0, got float",
        ),
        (lambda view, clients: 1 / 0, r"fails: round 0, ZeroDivisionError: division by zero \(test_steps.py"),
    ],
)
def test_steps_that_are_none_are_refused_with_round_and_number(steps: Any, fault: str) -> None:
    with pytest.raises(SchedulerError, match=rf"^Eager {fault}"):
        simulate(rich(3, initial=20), Eager(steps), 2)
    with pytest.raises(BrokenRules, match="Eager breaks the rules"):
        check_scheduler(Eager(steps))


def test_whoever_cannot_pay_for_its_steps_is_named_with_their_price() -> None:
    class Reckless(AdaptiveSteps):
        def steps(self, view: View, clients: Any) -> Any:
            return np.full(clients.size, 4)

    with pytest.raises(SchedulerError, match="round 0, client 1 was picked with 8 units and a round costs 9"):
        simulate(rich(2, initial=[9, 8]), Reckless(), 2, target=2)
    with pytest.raises(BrokenRules, match="spends energy that is not there"):
        check_scheduler(Reckless(), fleet=rich(4, rounds=50))


def test_steps_that_change_from_one_look_to_the_next_are_found() -> None:
    calls: list[int] = []

    def steps(view: View, clients: Any) -> Any:
        calls.append(1)
        return np.full(clients.size, 1 + len(calls) % 2)

    with pytest.raises(BrokenRules, match="the same view gave other steps when it was shown again"):
        check_scheduler(Eager(steps))


def test_a_server_asks_for_the_steps_of_whoever_took_part() -> None:
    decider = Decider(rich(3), AdaptiveSteps(2))
    decider.decide(0, np.array([7, 30, 9], np.int32))

    steps = [decider.steps(np.array(clients, np.int32)) for clients in ([1, 2], [0], [])]
    assert [None if one is None else one.tolist() for one in steps] == [[5, 4], [2], []]
    assert Decider(Fleet(3, Bernoulli(0.5)), AdaptiveSteps(2)).steps(np.array([0], np.int32)) is None


# what becomes of them


def test_steps_are_saved_and_read_again(tmp_path: Path) -> None:
    played = simulate(rich(6), AdaptiveSteps(4), 40)
    played.save(tmp_path / "played.npz")
    again = Participation.load(tmp_path / "played.npz")

    assert played.steps is not None and again.steps is not None
    assert np.array_equal(again.steps, played.steps)


def test_in_lockstep_the_steps_are_those_of_the_simulation() -> None:
    fleet = rich(6)
    played, course = simulate(fleet, AdaptiveSteps(4), 40, seed=1), Course(Lockstep(fleet, AdaptiveSteps(4), 40, 1))
    for t in range(40):
        assert np.array_equal(course.steps_of(t), played.steps_of(t))  # type: ignore[arg-type]
        course.report(t, [0.0] * course.clients(t).size)

    again = course.participation()
    assert again.steps is not None and np.array_equal(again.steps, played.steps)  # type: ignore[arg-type]
