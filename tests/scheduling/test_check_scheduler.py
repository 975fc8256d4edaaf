"""check_scheduler() names every fault in plain words, and is silent about a scheduler that has none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl.arrays import IntArray
from ehfl.energy import Fleet, Replay
from ehfl.scheduling import Myopic, OldestFirst, View, check_scheduler
from ehfl.validation import BrokenRules


class Picks:
    """A scheduler made of a function of the view, which may return anything."""

    def __init__(self, choose: Callable[[View], Any]) -> None:
        self.choose = choose

    def select(self, view: View) -> IntArray:
        chosen: IntArray = self.choose(view)
        return chosen


def able(view: View) -> IntArray:
    return np.flatnonzero(view.energy >= view.cost)


def drain(view: View) -> IntArray:
    view.energy[0] = 77
    return np.arange(0)


def fault_of(scheduler: Picks) -> str:
    with pytest.raises(BrokenRules) as caught:
        check_scheduler(scheduler)
    return str(caught.value)


def test_a_good_scheduler_passes_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    check_scheduler(Picks(able))
    check_scheduler(Picks(lambda view: able(view)[::-1]))  # in any order
    check_scheduler(Picks(lambda view: []))
    check_scheduler(Picks(lambda view: able(view).tolist()))
    check_scheduler(Picks(lambda view: view.generator().permutation(able(view))[:3]))
    check_scheduler(Picks(lambda view: view.first(able(view), view.turns[able(view)], view.target)))

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("choose", "words"),
    [
        (
            lambda view: np.arange(view.energy.size),
            "spends energy that is not there: round 0, client 0 was picked with 0 units and a round costs 1",
        ),
        (lambda view: np.repeat(able(view), 2), r"picks a client twice: round \d+, client \d+"),
        (
            lambda view: np.array([view.energy.size]),
            "picks a client that does not exist: round 0, client 10 was picked and clients are 0 to 9",
        ),
        (lambda view: np.array([-1]), "picks a client that does not exist: round 0, client -1 was picked"),
        (lambda view: None, "must return a list of client numbers: round 0, got object"),
        (lambda view: [0.0], "must return a list of client numbers: round 0, got float64"),
        (lambda view: view.energy >= 1, "must return a list of client numbers: round 0, got bool"),
        (lambda view: [able(view)], r"must return a list of client numbers: round \d+, got int64 of shape \(1, "),
        (lambda view: 1 // 0, "fails: round 0, ZeroDivisionError"),
        (
            lambda view: np.random.default_rng().permutation(able(view))[:1],
            r"is not reproducible: round \d+, the same view gave \[\d\] and then \[\d\]",
        ),
    ],
)
def test_a_fault_is_named(choose: Callable[[View], Any], words: str) -> None:
    message = fault_of(Picks(choose))

    assert message.startswith("Picks breaks the rules:\n  - ")
    with pytest.raises(ValueError, match=words):
        raise ValueError(message)


def test_a_scheduler_that_writes_into_what_it_is_shown_is_told_so() -> None:
    message = fault_of(Picks(drain))

    assert "changes its input: round 0, the energy of client 0 was 0 and is 77" in message


def test_each_rule_is_named_once_with_its_first_case() -> None:
    message = fault_of(Picks(lambda view: np.array([0, 0]) if view.round % 2 else np.array([100])))

    assert message.count("\n  - ") == 2
    assert "picks a client twice: round 1, client 0" in message
    assert "picks a client that does not exist: round 0, client 100" in message


class Remembers:
    """Picks nobody in the first simulation that it is used in, and everyone who can pay from then on."""

    def __init__(self) -> None:
        self.restarts = 0
        self.last = 0

    def select(self, view: View) -> IntArray:
        self.restarts += view.round < self.last
        self.last = view.round
        return able(view) if self.restarts >= 2 else np.arange(0)


def test_a_scheduler_that_keeps_state_from_run_to_run_is_told_so() -> None:
    with pytest.raises(BrokenRules, match=r"is not reproducible: the same simulation, run again, had other"):
        check_scheduler(Remembers())


def test_a_scheduler_that_fails_only_in_a_simulation_is_told_so() -> None:
    def choose(view: View) -> IntArray:
        if view.energy.max() > 2 and view.round > 4 and not view.energy.flags.writeable:
            raise RuntimeError("no battery left")
        return np.arange(0)

    message = fault_of(Picks(choose))
    assert "fails: " in message
    assert "RuntimeError: no battery left" in message


def test_the_fleet_of_the_check_can_be_chosen() -> None:
    picky = Picks(lambda view: able(view)[:1] if view.energy.size <= 17 else np.array([0, 0]))
    check_scheduler(picky)

    with pytest.raises(BrokenRules, match="picks a client twice"):
        check_scheduler(picky, clients=11)


def test_a_cost_written_into_a_scheduler_is_found() -> None:
    class CostsOne:
        def select(self, view: View) -> np.ndarray:
            return np.flatnonzero(view.energy >= 1)

    with pytest.raises(BrokenRules, match="spends energy that is not there"):
        check_scheduler(CostsOne())


def test_a_wrong_value_inside_a_scheduler_is_its_own_fault() -> None:
    class Wrong:
        def select(self, view: View) -> np.ndarray:
            return Myopic(target=0).select(view)

    with pytest.raises(BrokenRules, match=r"Wrong breaks the rules:\n  - fails: round 0, target must be .* got 0"):
        check_scheduler(Wrong())


def test_one_cost_for_all_written_into_a_scheduler_is_found() -> None:
    """Some of the check's fleets have a cost for each client."""
    with pytest.raises(BrokenRules, match="fails: round 3, TypeError: only"):
        check_scheduler(Picks(lambda view: [i for i, level in enumerate(view.energy) if level >= int(view.cost)]))
    with pytest.raises(BrokenRules, match=r"picked with \d units and a round costs \d"):
        check_scheduler(Picks(lambda view: np.flatnonzero(view.energy >= np.min(view.cost))))


def test_losses_are_none_in_some_views_and_unknown_for_some_clients_in_others() -> None:
    seen: list[Any] = []

    def choose(view: View) -> IntArray:
        seen.append(view.losses)
        return np.arange(0)

    check_scheduler(Picks(choose))
    reported = [losses for losses in seen if losses is not None]
    assert 0 < len(reported) < len(seen)
    assert all(np.isnan(losses).any() and not np.isnan(losses).all() for losses in reported)


def test_a_scheduler_that_takes_losses_for_granted_is_told_so() -> None:
    with pytest.raises(BrokenRules, match="fails: round 0, TypeError"):
        check_scheduler(Picks(lambda view: able(view)[view.losses[able(view)] > 1]))  # type: ignore[index]


def test_a_large_fleet_may_be_asked_for_its_past() -> None:
    check_scheduler(OldestFirst(), clients=5000, rounds=2)


def test_a_fleet_size_written_into_a_scheduler_is_found() -> None:
    class TenClients:
        def select(self, view: View) -> np.ndarray:
            return np.array([i for i in range(11) if view.energy[i] >= view.cost])

    with pytest.raises(BrokenRules, match="IndexError"):
        check_scheduler(TenClients())


@pytest.mark.parametrize(("name", "round_"), [("rates", 0), ("losses", 1), ("cost", 3)])
def test_whatever_of_a_view_is_changed_is_told(name: str, round_: int) -> None:
    def choose(view: View) -> IntArray:
        shown = getattr(view, name)
        if isinstance(shown, np.ndarray):
            shown[1] = 7
        return np.arange(0)

    assert f"changes its input: round {round_}, the {name} of client 1 was" in fault_of(Picks(choose))


def test_a_scheduler_for_one_fleet_is_tried_on_that_alone() -> None:
    """It has a number for each of three clients, so ten are too many for it; its fleet's costs and batteries count."""
    seen: list[View] = []

    def choose(view: View) -> IntArray:
        seen.append(view)
        return np.intersect1d(view.able(), np.flatnonzero(np.array([1, 0, 1]) * view.energy))

    fleet = Fleet(clients=3, harvest=Replay([[1, 2, 3]] * 6), capacity=[2, 4, 9], cost=[1, 2, 3])
    check_scheduler(Picks(choose), fleet=fleet, rounds=6)

    assert all(view.energy.shape == (3,) and (view.energy <= [2, 4, 9]).all() for view in seen)
    assert all(np.asarray(view.cost).tolist() == [1, 2, 3] for view in seen)
    assert max(view.energy.max() for view in seen) > 3
    with pytest.raises(BrokenRules, match="fails: round 0, ValueError"):
        check_scheduler(Picks(choose))


NUMBERED = """
import itertools

NUMBERS = itertools.count()

class Numbered:
    def __init__(self):
        self.number = next(NUMBERS)

    def select(self, view):
        return view.able()[: self.number]
"""


def test_a_scheduler_that_is_another_whenever_it_is_made_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numbered_scheduler.py").write_text(NUMBERED)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(
        BrokenRules, match="Numbered breaks the rules:\n  - selects differently when it is constructed again from"
    ):
        check_scheduler("numbered_scheduler:Numbered")
