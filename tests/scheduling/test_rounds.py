"""The round loop and its halves: play by hand, losses, and what is remembered of past rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np
import pytest

from ehfl.arrays import IntArray
from ehfl.energy import Bernoulli, Fleet, Ledger, Replay
from ehfl.randomness import TILE
from ehfl.scheduling import SCHEDULERS, Decider, Greedy, Myopic, Play, RoundRobin, SchedulerError, View, simulate
from ehfl.scheduling.past import Past

NAMES = list(SCHEDULERS.members)
LARGE = TILE + 300


class Asks:
    """Takes everyone who can pay, and keeps what `ask` makes of each view."""

    def __init__(self, ask: Callable[[View], object]) -> None:
        self.ask = ask
        self.answers: list[Any] = []

    def select(self, view: View) -> IntArray:
        self.answers.append(self.ask(view))
        return view.able()


class AsksLosses(Asks):
    wants_losses = True


# play


@pytest.mark.parametrize("clients", [10, LARGE])
def test_the_game_played_to_its_end_is_the_simulation(clients: int) -> None:
    fleet = Fleet(clients=clients, harvest=Bernoulli(0.5), capacity=4, initial=1)
    whole = simulate(fleet, Myopic(), rounds=15, seed=2, record_energy=True)

    assert whole.energy is not None
    for t, round_ in enumerate(Play(fleet, Myopic(), rounds=15, seed=2)):
        assert (round_.index, round_.spent) == (t, whole.spent[t])
        assert np.array_equal(round_.clients, whole.clients(t))
        assert np.array_equal(round_.energy_after, whole.energy[t + 1])
    assert t == 14


def test_a_play_ends_with_its_ledger_and_has_no_further_round() -> None:
    game = Play(Fleet(clients=2, harvest=Replay([[1, 2], [0, 0]]), cost=[1, 2]), Greedy(), rounds=2)
    assert [played.index for played in game] == [0, 1]
    assert game.over and list(game) == []
    with pytest.raises(ValueError, match="all 2 rounds have been played"):
        game.step()

    ledger = game.ledger
    assert ledger.energy.tolist() == [0, 0]
    assert (ledger.totals().harvested, ledger.totals().spent) == (3, 3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("clients", [8, LARGE])
def test_the_two_halves_put_together_by_hand_are_the_game(name: str, clients: int) -> None:
    """A server that decides and devices that settle, as a network would have them."""
    rounds, seed = 10, 4
    cost, capacity = 1 + np.arange(clients) % 2, np.where(np.arange(clients) % 3, 4, math.inf)
    fleet = Fleet(clients, Bernoulli(0.6), capacity=capacity, initial=1, cost=cost)
    decider = Decider(fleet, SCHEDULERS.make(name), seed)
    halves = [range(clients // 2), range(clients // 2, clients)]
    devices = [Ledger(fleet, rounds, seed, clients=half) for half in halves]
    for t, round_ in enumerate(Play(fleet, SCHEDULERS.make(name), rounds, seed)):
        chosen = decider.decide(t, np.concatenate([device.energy for device in devices]))
        for half, device in zip(halves, devices, strict=True):
            own = chosen[(chosen >= half.start) & (chosen < half.stop)] - half.start
            assert device.settle(t, own, mains_powered=decider.mains_powered).unable == -1
        decider.note(t, chosen)

        assert np.array_equal(chosen, round_.clients)
        assert np.array_equal(np.concatenate([device.energy for device in devices]), round_.energy_after)


def test_two_games_side_by_side_do_not_disturb_each_other() -> None:
    fleet = Fleet(clients=LARGE, harvest=Bernoulli(0.5))
    alone = [r.clients.tolist() for r in Play(fleet, Myopic(), rounds=4, seed=1)]
    pairs = zip(Play(fleet, Myopic(), 4, seed=1), Play(fleet, Greedy(), 4, seed=2), strict=True)

    assert [first.clients.tolist() for first, _ in pairs] == alone


def test_a_view_has_the_fleets_facts() -> None:
    scheduler = Asks(lambda view: (view.round, view.energy.tolist(), view.cost, view.target, view.capacity, view.seed))
    for _ in Play(
        Fleet(clients=2, harvest=Replay([[1, 0], [0, 0]]), capacity=3), scheduler, rounds=2, seed=6, target=2
    ):
        pass

    assert scheduler.answers == [(0, [0, 0], 1, 2, 3, 6), (1, [1, 0], 1, 2, 3, 6)]


def test_a_view_has_each_clients_own_facts() -> None:
    fleet = Fleet(clients=2, harvest=Bernoulli([0.25, 1.0]), capacity=[3, math.inf], cost=[1, 2])
    scheduler = Asks(lambda view: [np.asarray(one).tolist() for one in (view.cost, view.capacity, view.rates)])
    simulate(fleet, scheduler, rounds=1)

    assert scheduler.answers == [[[1, 2], [3, math.inf], [0.25, 1.0]]]


# losses


def test_a_scheduler_that_wants_losses_sees_those_of_each_clients_last_turn() -> None:
    """Participants are {}, {0}, {0, 1}, {1}, {}; NaN stands for those who have not reported."""
    arrivals = [[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]]
    scheduler = AsksLosses(lambda view: None if view.losses is None else view.losses.tolist())
    game = Play(Fleet(clients=2, harvest=Replay(arrivals)), scheduler, rounds=5)
    rounds = [next(game), *(game.step(losses) for losses in ([], [2.5], [1.5, 4.0], [3.0]))]

    assert [round_.clients.tolist() for round_ in rounds] == [[], [0], [0, 1], [1], []]
    assert repr(scheduler.answers) == "[None, [nan, nan], [2.5, nan], [1.5, 4.0], [1.5, 3.0]]"


def test_rounds_without_losses_leave_the_last_ones_standing() -> None:
    scheduler = AsksLosses(lambda view: None if view.losses is None else view.losses.tolist())
    game = Play(Fleet(clients=1, harvest=Bernoulli(1.0), initial=1), scheduler, rounds=4)
    next(game)
    game.step([7.0])
    next(game)
    game.step()

    assert scheduler.answers == [None, [7.0], [7.0], [7.0]]


def test_a_scheduler_that_does_not_want_losses_sees_none() -> None:
    scheduler = Asks(lambda view: view.losses)
    game = Play(Fleet(clients=2, harvest=Bernoulli(1.0), initial=1), scheduler, rounds=2)
    next(game)
    game.step([1.0, 2.0])

    assert scheduler.answers == [None, None]


@pytest.mark.parametrize("losses", [[1.0], [1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]]])
def test_losses_that_are_not_one_a_participant_are_refused(losses: object) -> None:
    game = Play(Fleet(clients=2, harvest=Bernoulli(1.0), initial=1), AsksLosses(lambda _: None), rounds=2)
    next(game)

    with pytest.raises(ValueError, match=r"losses must be one a participant \(2\), got an array of \("):
        game.step(losses)  # type: ignore[arg-type]


def test_losses_steer_who_takes_part() -> None:
    """Each client's loss is its number: once all four have reported, the two largest of the four candidates go on."""
    scheduler = SCHEDULERS.make({"name": "power-of-choice", "target": 2, "candidates": 4})
    game = Play(Fleet(clients=4, harvest=Bernoulli(1.0), initial=1), scheduler, rounds=5, seed=3)
    rounds = [next(game).clients.tolist()]
    for _ in range(4):
        rounds.append(game.step([float(client) for client in rounds[-1]]).clients.tolist())

    assert sorted(rounds[0] + rounds[1]) == [0, 1, 2, 3]  # those without a turn first
    assert rounds[2:] == [[2, 3], [2, 3], [2, 3]]


def test_losses_cannot_be_written_to() -> None:
    def overwrite(view: View) -> None:
        if view.losses is not None:
            view.losses[:] = 0

    game = Play(Fleet(clients=1, harvest=Bernoulli(1.0), initial=1), AsksLosses(overwrite), rounds=2)
    next(game)
    with pytest.raises(SchedulerError, match="read-only"):
        game.step([7.0])


# the past


def test_turns_and_last_turns_are_counted_by_hand() -> None:
    """Round robin, two of three clients a round, of which client 2 has one unit only: {0, 1}, {2, 0}, {1}, {0, 1}."""
    seen: list[tuple[list[int], list[int]]] = []

    class Watched:
        def select(self, view: View) -> IntArray:
            seen.append((view.turns.tolist(), view.last_turn.tolist()))
            return RoundRobin(per_round=2).select(view)

    fleet = Fleet(clients=3, harvest=Replay(np.zeros((5, 3), int)), initial=[9, 9, 1])
    simulate(fleet, Watched(), rounds=5)

    assert seen == [
        ([0, 0, 0], [-1, -1, -1]),
        ([1, 1, 0], [0, 0, -1]),
        ([2, 1, 1], [1, 0, 1]),
        ([2, 2, 1], [1, 2, 1]),
        ([3, 3, 1], [3, 3, 1]),
    ]


@pytest.mark.parametrize("clients", [6, LARGE])
def test_turns_are_those_of_the_participation(clients: int) -> None:
    scheduler = Asks(lambda view: (view.turns.copy(), view.last_turn.copy()))
    played = simulate(Fleet(clients, Bernoulli(0.4)), scheduler, rounds=8, seed=1)

    turns, last = np.zeros(clients, int), np.full(clients, -1)
    for t, answer in enumerate(scheduler.answers):
        assert isinstance(answer, tuple)
        assert np.array_equal(answer[0], turns)
        assert np.array_equal(answer[1], last)
        turns[played.clients(t)] += 1
        last[played.clients(t)] = t


def past_in(rounds: Collection[int], view: View) -> Any:
    return (view.turns.copy(), view.last_turn.copy(), view.recent(0.1)) if view.round in rounds else None


@pytest.mark.parametrize("clients", [6, LARGE])
def test_a_scheduler_may_ask_for_the_past_at_any_time(clients: int) -> None:
    """Read in some rounds only, they are what a scheduler has that reads them in every round."""
    seen = []
    for rounds in (range(6), (2, 5)):
        scheduler = Asks(partial(past_in, rounds))
        simulate(Fleet(clients, Bernoulli(0.4)), scheduler, rounds=6, seed=1)
        seen.append([scheduler.answers[t] for t in (2, 5)])

    for always, sometimes in zip(*seen, strict=True):
        assert all(np.array_equal(one, other) for one, other in zip(always, sometimes, strict=True))


def test_a_fleet_that_never_asks_counts_nothing_of_the_past() -> None:
    fleet = Fleet(LARGE, Bernoulli(0.5), initial=1)
    silent, asking = Decider(fleet, Greedy()), Decider(fleet, Asks(lambda view: view.turns[0]))
    for decider in (silent, asking):
        decider.note(0, decider.decide(0, fleet.start()))

    assert silent.past._turns is None and asking.past._turns is not None
    assert asking.past.turns.sum() == LARGE


def test_each_game_begins_without_a_past() -> None:
    scheduler = Asks(lambda view: view.turns.tolist())
    for _ in range(2):
        simulate(Fleet(clients=2, harvest=Bernoulli(1.0), initial=1), scheduler, rounds=2)

    assert scheduler.answers == [[0, 0], [1, 1], [0, 0], [1, 1]]


def test_levels_of_another_fleet_are_refused() -> None:
    decider = Decider(Fleet(clients=10, harvest=Bernoulli(0.5)), Greedy())

    with pytest.raises(ValueError, match=r"energy must be one level per client \(10\), got an array of \(4,\)"):
        decider.decide(0, np.ones(4, np.int32))


def test_turns_of_many_rounds_are_all_counted() -> None:
    """Each client of two is in every second of 5,000 rounds."""
    past = Past(2)
    for t in range(5000):
        past.note(t, np.array([t % 2]))

    assert past.turns.tolist() == [2500, 2500]
    assert past.last_turn.tolist() == [4998, 4999]
