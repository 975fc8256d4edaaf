"""A course, decided round by round, has the rounds of the simulation where energy alone decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ehfl.energy import Bernoulli, Fleet
from ehfl.scheduling import SCHEDULERS, Course, Lockstep, Participation, simulate, wants_losses

NAMES = list(SCHEDULERS.members)
FLEET = Fleet(6, Bernoulli(0.5), capacity=[2, 3, 4, 5, 6, np.inf], initial=1, cost=[1, 1, 2, 2, 3, 3], unit="mJ")


def assert_same(one: Participation, other: Participation) -> None:
    for name in ("offsets", "indices", "spent", "final_energy", "energy"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    for name in ("n_clients", "totals", "target", "scheduler", "seed", "mains_powered", "unit"):
        assert getattr(one, name) == getattr(other, name)


@pytest.mark.parametrize("name", [name for name in NAMES if not wants_losses(SCHEDULERS.make(name))])
def test_a_course_has_the_rounds_of_the_simulation(name: str) -> None:
    """What the learner reports changes nothing for a scheduler that does not want losses."""
    scheduler = SCHEDULERS.make(name)
    played = simulate(FLEET, scheduler, 20, seed=3, target=4, record_energy=True)
    plan = Lockstep(FLEET, scheduler, 20, seed=3, target=4, record_energy=True)
    course = Course(plan)
    for t in range(20):
        assert np.array_equal(course.clients(t), played.clients(t))
        course.report(t, [1.0 + client for client in course.clients(t).tolist()])
    assert_same(course.participation(), played)


def test_losses_that_were_reported_decide_what_a_simulation_cannot() -> None:
    """All can pay from round 1 on; client 2's loss is the largest, and every client is a candidate."""
    scheduler = SCHEDULERS.make({"name": "power-of-choice", "target": 1, "candidates": 3})
    course = Course(Lockstep(Fleet(3, Bernoulli(1.0)), scheduler, rounds=8, seed=0))
    for t in range(8):
        course.report(t, [9.0 if client == 2 else 0.5 for client in course.clients(t).tolist()])

    rounds = course.participation()
    assert rounds.counts.tolist() == [0, 1, 1, 1, 1, 1, 1, 1]
    assert sorted(rounds.indices[:3].tolist()) == [0, 1, 2]  # each once first: their losses are not known
    assert rounds.indices[3:].tolist() == [2, 2, 2, 2]


def test_a_round_may_be_looked_at_twice_before_it_is_reported() -> None:
    course = Course(Lockstep(FLEET, SCHEDULERS.make("greedy"), rounds=2))

    assert np.array_equal(course.clients(0), course.clients(0))


def test_a_wrong_number_of_losses_is_refused() -> None:
    course = Course(Lockstep(FLEET, SCHEDULERS.make("power-of-choice"), rounds=2))

    with pytest.raises(ValueError, match=r"losses must be one a participant \(\d\), got an array of \(9,\)"):
        course.report(0, [1.0] * 9)


def test_rounds_out_of_their_order_are_a_mistake_of_ours() -> None:
    course = Course(Lockstep(FLEET, SCHEDULERS.make("greedy"), rounds=3))

    with pytest.raises(AssertionError, match="rounds are asked for in their order"):
        course.clients(1)
    with pytest.raises(AssertionError, match="rounds are asked for in their order"):
        course.report(1, [])
    with pytest.raises(AssertionError, match="the last round is not over"):
        course.participation()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds must be a whole number >= 1, got 0"),
        ({"seed": -1}, "seed must be a whole number in .*, got -1"),
        ({"target": 7}, r"target must be a whole number in \[1, 6\], got 7"),
    ],
)
def test_a_plan_that_cannot_be_played_is_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Lockstep(FLEET, SCHEDULERS.make("greedy"), **({"rounds": 3} | options))


def test_a_plan_knows_its_clients() -> None:
    assert Lockstep(FLEET, SCHEDULERS.make("greedy"), rounds=3).n_clients == 6
