"""simulate(): what is asked of it, what it records, and that it is the same whatever it runs on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ehfl.energy import Bernoulli, Fleet, Replay
from ehfl.randomness import TILE
from ehfl.scheduling import SCHEDULERS, Greedy, Myopic, Play, RoundRobin, simulate

NAMES = list(SCHEDULERS.members)
LARGE = TILE + 300


# what is asked of it


def test_the_target_is_what_the_harvest_sustains_unless_another_is_wanted() -> None:
    fleet = Fleet(clients=4, harvest=Replay(np.ones((3, 4), int)), initial=9, cost=2)
    own, other = simulate(fleet, Myopic(), rounds=3), simulate(fleet, Myopic(), rounds=3, target=3)

    assert (own.target, own.counts.tolist()) == (2, [2, 2, 2])
    assert (other.target, other.counts.tolist()) == (3, [3, 3, 3])
    assert other.summary().shortfall == 0.0  # measured against what was wanted


def test_a_scheduler_with_a_width_of_its_own_keeps_it_whatever_the_target() -> None:
    fleet = Fleet(clients=4, harvest=Bernoulli(1.0), initial=1)

    assert simulate(fleet, RoundRobin(per_round=1), rounds=3, target=3).counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("target", [0, 4, 1.5])
def test_a_target_that_the_fleet_cannot_have_is_refused(target: Any) -> None:
    with pytest.raises(ValueError, match=rf"target must be a whole number in \[1, 3\], got {target}"):
        simulate(Fleet(clients=3, harvest=Bernoulli(0.5)), Greedy(), rounds=1, target=target)


@pytest.mark.parametrize("rounds", [0, -1, 1.5, 2**31])
def test_a_number_of_rounds_that_cannot_be_played_is_refused(rounds: Any) -> None:
    with pytest.raises(ValueError, match=r"rounds must be a whole number in \[1, 2147483647\], got"):
        simulate(Fleet(clients=3, harvest=Bernoulli(0.5)), Greedy(), rounds=rounds)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5])
def test_a_seed_out_of_range_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed must be a whole number in"):
        simulate(Fleet(clients=2, harvest=Bernoulli(0.5)), Greedy(), rounds=1, seed=seed)


@pytest.mark.parametrize("clients", [10, LARGE])
@pytest.mark.parametrize("threads", [0, 10_000])
def test_a_number_of_threads_that_the_machine_has_not_is_refused(threads: int, clients: int) -> None:
    with pytest.raises(ValueError, match=r"threads must be a whole number .*, got"):
        simulate(Fleet(clients=clients, harvest=Bernoulli(0.5)), Greedy(), 1, threads=threads)


@pytest.mark.parametrize(
    ("wrong", "why"), [("myopc", "did you mean myopic"), (Greedy, "must be a scheduler, with select"), (3, "without")]
)
def test_a_scheduler_that_is_none_is_refused(wrong: Any, why: str) -> None:
    with pytest.raises(ValueError, match=f"scheduler .*{why}"):
        simulate(Fleet(clients=3, harvest=Bernoulli(0.5)), wrong, rounds=2)


def test_things_may_be_given_by_name() -> None:
    named = simulate(Fleet(clients=10, harvest="bernoulli:0.5"), "round-robin:1", rounds=30)  # type: ignore[arg-type]
    made = simulate(Fleet(clients=10, harvest=Bernoulli(0.5)), RoundRobin(per_round=1), rounds=30)

    assert np.array_equal(named.indices, made.indices)
    assert named.scheduler == made.scheduler == "RoundRobin(per_round=1)"


# what it records


def test_levels_are_recorded_only_when_asked_for() -> None:
    fleet = Fleet(clients=2, harvest=Replay([[1, 0], [3, 0]]), capacity=2)

    assert simulate(fleet, Greedy(), rounds=2).energy is None
    recorded = simulate(fleet, Greedy(), rounds=2, record_energy=True).energy
    assert recorded is not None
    assert recorded.tolist() == [[0, 0], [1, 0], [2, 0]]


def test_each_rounds_cost_is_recorded_client_by_client() -> None:
    fleet = Fleet(clients=3, harvest=Replay(np.zeros((4, 3), int)), initial=[4, 2, 9], cost=[1, 2, 4], unit="mJ")
    played = simulate(fleet, Greedy(), rounds=4)

    assert [played.clients(t).tolist() for t in range(4)] == [[0, 1, 2], [0, 2], [0], [0]]
    assert played.spent.tolist() == [7, 5, 1, 1]
    assert played.final_energy.tolist() == [0, 0, 1]
    assert (played.unit, played.mains_powered, played.scheduler) == ("mJ", False, "Greedy()")


def test_on_mains_power_each_rounds_cost_is_recorded_all_the_same() -> None:
    fleet = Fleet(clients=2, harvest=Replay([[1, 0], [0, 0]]), cost=[3, 5])
    played = simulate(fleet, SCHEDULERS.make("always-on:2"), rounds=2)

    assert played.spent.tolist() == [8, 8]
    assert (played.mains_powered, played.totals.mains, played.totals.spent) == (True, 16, 0)


def test_each_round_is_announced_once_it_was_played() -> None:
    seen: list[int] = []
    simulate(Fleet(clients=2, harvest=Bernoulli(0.5)), Greedy(), rounds=4, on_round=seen.append)

    assert seen == [0, 1, 2, 3]


# the same, whatever it runs on


@pytest.mark.parametrize("clients", [10, LARGE])
def test_every_scheduler_meets_the_same_harvest(clients: int) -> None:
    fleet = Fleet(clients=clients, harvest=Bernoulli(0.3), capacity=2)
    harvested = {simulate(fleet, SCHEDULERS.make(name), rounds=20, seed=8).totals.harvested for name in NAMES}

    assert harvested == {int(Bernoulli(0.3).units(8, range(20), range(clients)).sum())}


def test_another_seed_is_another_harvest() -> None:
    fleet = Fleet(clients=10, harvest=Bernoulli(0.5))
    first, second = (simulate(fleet, Greedy(), rounds=50, seed=seed) for seed in (0, 1))

    assert first.counts.tolist() != second.counts.tolist()


def test_seeds_of_numpy_types_are_the_same_seeds() -> None:
    fleet = Fleet(clients=30, harvest=Bernoulli(0.5))
    seeds: list[Any] = [np.int32(77), 77]

    first, second = ([r.clients.tolist() for r in Play(fleet, Greedy(), 9, seed=seed)] for seed in seeds)

    assert first == second


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("own", [False, True], ids=["alike", "each its own"])
def test_the_number_of_threads_changes_nothing(name: str, own: bool) -> None:
    clients = 5 * TILE + 77
    capacity, cost = (np.arange(clients) % 3 + 2, np.arange(clients) % 2 + 1) if own else (3, 1)
    fleet = Fleet(clients=clients, harvest=Bernoulli(0.4), capacity=capacity, cost=cost)
    one, two, all_ = (simulate(fleet, SCHEDULERS.make(name), 8, seed=5, threads=n) for n in (1, 2, None))

    for other in (two, all_):
        assert np.array_equal(one.indices, other.indices)
        assert np.array_equal(one.offsets, other.offsets)
        assert np.array_equal(one.final_energy, other.final_energy)
        assert one.totals == other.totals


@pytest.mark.parametrize("name", NAMES)
def test_a_longer_simulation_begins_with_the_shorter(name: str) -> None:
    fleet = Fleet(clients=10, harvest=Bernoulli(0.5))
    short, long = (simulate(fleet, SCHEDULERS.make(name), rounds, seed=3) for rounds in (37, 1000))

    assert np.array_equal(short.counts, long.counts[:37])
    assert np.array_equal(short.indices, long.indices[: short.indices.size])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("clients", [10, LARGE])
def test_one_number_for_all_is_that_number_for_each(name: str, clients: int) -> None:
    alike = Fleet(clients, Bernoulli(0.4), capacity=4, initial=1, cost=2)
    each = Fleet(clients, Bernoulli(0.4), capacity=[4] * clients, initial=[1] * clients, cost=[2] * clients)
    one, other = (simulate(fleet, SCHEDULERS.make(name), 20, seed=6) for fleet in (alike, each))

    assert np.array_equal(one.indices, other.indices)
    assert np.array_equal(one.offsets, other.offsets)
    assert np.array_equal(one.final_energy, other.final_energy)
    assert (one.totals, one.target) == (other.totals, other.target)
