"""Weights that a scheduler brings: through the loop, its record and its file, and what is told of wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy import Bernoulli, Fleet, Replay
from ehfl.scheduling import (
    Course,
    Decider,
    Greedy,
    Lockstep,
    Participation,
    Play,
    SchedulerError,
    View,
    check_scheduler,
    simulate,
)
from ehfl.validation import BrokenRules

FLEET = Fleet(clients=3, harvest=Replay([[1, 0, 2], [0, 1, 0], [0, 0, 0], [0, 0, 0]]))


@dataclass(frozen=True)
class ByLevel:
    """Everyone who can pay; a turn counts as much as what the client holds before it pays, plus a tenth a round."""

    wants_losses: ClassVar[bool] = False

    def select(self, view: View) -> IntArray:
        return view.able()

    def weights(self, view: View, clients: IntArray) -> FloatArray:
        return np.asarray(view.energy[clients] + view.round / 10, np.float64)


def test_a_round_and_the_participation_carry_them() -> None:
    played = simulate(FLEET, ByLevel(), rounds=4)

    # Client 0 holds 1 in round 1; client 2 holds 2, then 1; client 1 holds 1 in round 2.
    assert [played.clients(t).tolist() for t in range(4)] == [[], [0, 2], [1, 2], []]
    found = [played.weights_of(t) for t in range(4)]
    assert [one.tolist() for one in found if one is not None] == [[], [1.1, 2.1], [1.2, 1.2], []]
    for t, one in enumerate(Play(FLEET, ByLevel(), rounds=4)):
        np.testing.assert_array_equal(one.weights, found[t])


def test_there_are_none_where_the_scheduler_brings_none() -> None:
    played = simulate(FLEET, Greedy(), rounds=4)

    assert played.weights is None
    assert played.weights_of(1) is None
    assert next(Play(FLEET, Greedy(), rounds=4)).weights is None
    assert Decider(FLEET, Greedy()).weights(np.array([1], np.int32)) is None


def test_in_lockstep_they_are_the_same() -> None:
    known = simulate(FLEET, ByLevel(), rounds=4)
    decided = Course(Lockstep(FLEET, ByLevel(), rounds=4))

    for t in range(4):
        np.testing.assert_array_equal(decided.weights_of(t), known.weights_of(t))
        decided.report(t, [])
    np.testing.assert_array_equal(decided.participation().weights, known.weights)


def test_the_file_keeps_them(tmp_path: Path) -> None:
    played = simulate(FLEET, ByLevel(), rounds=4)
    played.save(tmp_path / "played.npz")
    plain = simulate(FLEET, Greedy(), rounds=4)
    plain.save(tmp_path / "plain.npz")

    np.testing.assert_array_equal(Participation.load(tmp_path / "played.npz").weights, played.weights)
    assert Participation.load(tmp_path / "plain.npz").weights is None


@dataclass(frozen=True)
class Wrong:
    """Everyone who can pay, with weights as given."""

    given: Any

    def select(self, view: View) -> IntArray:
        return view.able()

    def weights(self, view: View, clients: IntArray) -> Any:
        return self.given(view, clients)


def writes(view: View, clients: IntArray) -> FloatArray:
    view.energy[clients] += 1
    return np.ones(clients.size)


WRONG: dict[str, tuple[Any, str]] = {
    "one for all": (
        lambda view, clients: 1.0,
        "must return a weight for each client: round 0, got float64 of shape ()",
    ),
    "all clients'": (
        lambda view, clients: np.ones(view.energy.size),
        "must return a weight for each client: round 0, ",
    ),
    "words": (lambda view, clients: ["many"] * clients.size, "must return a weight for each client: round 0, got <U4"),
    "zero": (
        lambda view, clients: np.zeros(clients.size),
        "must return weights that are finite and > 0: round 0, got 0",
    ),
    "infinite": (lambda view, clients: 1 / view.energy[clients], "must return weights that are finite and > 0: round "),
    "chance": (
        lambda view, clients: np.random.default_rng().random(clients.size) + 1,
        "is not reproducible: round 0, the same view gave other weights when it was shown again",
    ),
    "input": (writes, "changes its input: round 0, the energy of client 0 was 0 and is 1"),
    "failure": (lambda view, clients: view.nothing, "fails: round 0, AttributeError: 'View' object has no attribute"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_wrong_weights_are_told_in_a_plain_line(case: str) -> None:
    given, fault = WRONG[case]

    with pytest.raises(BrokenRules) as told:
        check_scheduler(Wrong(given))

    assert f"\n  - {fault}" in str(told.value)


def test_wrong_weights_stop_a_simulation() -> None:
    fleet = Fleet(clients=2, harvest=Bernoulli(1.0))

    with pytest.raises(SchedulerError, match=r"^Wrong must return weights that are finite and > 0: round 1, got -1.0$"):
        simulate(fleet, Wrong(lambda view, clients: -np.ones(clients.size)), rounds=3)


def test_right_weights_pass() -> None:
    check_scheduler(Wrong(lambda view, clients: 1 + view.energy[clients]))
