"""What any scheduler could have reached: against all schedules there are, against maximum flow, never below anybody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl import SCHEDULERS, Bernoulli, Fleet, InvalidValue, Replay, simulate
from ehfl.planning import Optimum, clairvoyant, income_of, share, turn_batteries
from flows import linear_bound, most_turns

ROUNDS = 5


def payable(fleet: Fleet, client: int, rounds: int) -> Iterator[tuple[int, ...]]:
    """Yield every row of turns that one client can pay for, played literally."""
    harvest, only = fleet.harvest.units(0, range(rounds), range(fleet.clients)), range(client, client + 1)
    storage = None if fleet.storage is None else fleet.storage.of(only)
    for turns in product((0, 1), repeat=rounds):
        level, paid = int(fleet.start()[client]), True
        for t in range(rounds):
            level -= turns[t] * fleet.cost_of(client)
            paid &= level >= 0
            units = np.array([int(harvest[t, client])])
            if storage is not None and paid:
                level -= int(storage.leaked(np.array([level]), t, only)[0])
                units = storage.charged(units, t, only)
            level = min(level + int(units[0]), fleet.ceiling_of(client))
        if paid:
            yield turns


def reachable(fleet: Fleet, rounds: int = ROUNDS) -> list[np.ndarray]:
    """Return n_t of every schedule that the fleet can pay for."""
    sums = {(0,) * rounds}
    for client in range(fleet.clients):
        own = list(payable(fleet, client, rounds))
        sums = {tuple(a + b for a, b in zip(one, other, strict=True)) for one in sums for other in own}
    return [np.array(one) for one in sums]


@st.composite
def fleets(draw: st.DrawFn, most_cost: int = 1, losses: bool = False) -> Fleet:
    n = draw(st.integers(1, 3))
    rows = draw(st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=ROUNDS, max_size=ROUNDS))
    capacity = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, np.inf]), min_size=n, max_size=n))
    start = [int(min(draw(st.integers(0, 3)), most)) for most in capacity]
    cost = draw(st.lists(st.integers(1, most_cost), min_size=n, max_size=n))
    lossy: dict[str, Any] = (
        {"efficiency": draw(st.sampled_from([0.5, 1.0])), "leak": 0.3, "drain": 0.4} if losses else {}
    )
    return Fleet(n, Replay(rows), capacity=capacity, initial=start, cost=cost, **lossy)


def best_of(vectors: list[np.ndarray], first: int) -> tuple[int, float, int, list[int]]:
    seen = [one[first:] for one in vectors]
    fairest = max(sorted(one.tolist()) for one in seen)
    total = max(int(one.sum()) for one in seen)
    return (
        max(int(one.min()) if one.size else 0 for one in seen),
        max(np.sqrt(one).sum() for one in seen),
        total,
        fairest,
    )


@given(fleets(), st.sampled_from([None, 0, 1, 3]))
@settings(max_examples=150, deadline=None)
def test_it_is_the_best_of_all_schedules_in_every_figure_at_once(fleet: Fleet, first: int | None) -> None:
    found = clairvoyant(fleet, ROUNDS, first=first)
    if found.first == ROUNDS:
        assert all(not one.any() for one in reachable(fleet))
        return
    least, sqrt, total, fairest = best_of(reachable(fleet), found.first)

    assert found.exact
    assert (found.least, found.turns()) == (least, total)
    assert found.mean_sqrt * (ROUNDS - found.first) == pytest.approx(sqrt)
    assert sorted(found.counts[found.first :].tolist()) == fairest
    if first is None:
        assert all(not one[: found.first].any() for one in reachable(fleet))  # nobody could have before
    if found.first == 0:
        assert any((found.counts == one).all() for one in reachable(fleet))


@given(fleets(most_cost=3), st.booleans())
@settings(max_examples=100, deadline=None)
def test_with_costs_of_several_units_it_is_the_best_or_a_bound(fleet: Fleet, endless: bool) -> None:
    if endless:
        fleet = Fleet(fleet.clients, fleet.harvest, initial=fleet.initial, cost=fleet.cost)
    found = clairvoyant(fleet, ROUNDS)
    least, sqrt, total, _ = best_of(reachable(fleet), found.first)
    figures = found.least, found.mean_sqrt * (ROUNDS - found.first) + 1e-9, found.turns()

    assert found.exact or not endless
    assert all(mine >= theirs for mine, theirs in zip(figures, (least, sqrt, total), strict=True))
    if found.exact:
        assert figures == pytest.approx((least, sqrt, total), abs=1e-6)


@given(fleets(most_cost=3, losses=True))
@settings(max_examples=40, deadline=None)
def test_bounds_hold_with_losses(fleet: Fleet) -> None:
    found = clairvoyant(fleet, ROUNDS)
    linear = linear_bound(fleet, ROUNDS)
    least, sqrt, total, _ = best_of(reachable(fleet), found.first)

    assert not found.exact
    assert min(found.least, linear.least) >= least
    assert min(found.mean_sqrt, linear.mean_sqrt) * (ROUNDS - found.first) >= sqrt - 1e-6
    assert found.turns() >= total


@given(fleets(most_cost=3), st.booleans(), st.sampled_from([None, 0, 2]))
@settings(max_examples=100, deadline=None)
def test_nobody_has_more_turns_by_any_round_than_greedy(fleet: Fleet, lossy: bool, first: int | None) -> None:
    if lossy:
        fleet = replace(fleet, efficiency=0.7, leak=0.2, drain=0.3)
    found = clairvoyant(fleet, ROUNDS, first=first, quick=True)
    for one in reachable(fleet):
        counts = one[found.first :]
        assert found.least >= counts.min(initial=found.least)
        assert np.sqrt(found.counts[found.first :]).sum() >= np.sqrt(counts).sum() - 1e-9
        for most in range(1, 4):
            assert found.turns(most) >= np.minimum(counts, most).sum()


def test_large_fleets_are_bounded_in_the_time_of_a_simulation() -> None:
    fleet = Fleet(3000, Bernoulli(0.5), capacity=4)
    large, small = clairvoyant(fleet, 700), clairvoyant(fleet, 30)
    near = clairvoyant(fleet, 30, quick=True)

    assert (large.exact, small.exact, near.exact) == (False, True, False)
    assert small.mean_sqrt <= near.mean_sqrt <= 1.001 * small.mean_sqrt


@pytest.mark.parametrize(("capacity", "rate"), [(1, 0.5), (1, 0.1), (2, 0.3), (7, 0.5), (np.inf, 0.2), (np.inf, 0.9)])
def test_every_level_is_what_maximum_flow_gives(capacity: float, rate: float) -> None:
    fleet = Fleet(25, Bernoulli(rate), capacity=capacity, initial=1)
    found, turns = clairvoyant(fleet, 60, seed=3), turn_batteries(fleet, income_of(fleet, 60, 3))

    for most in range(26):
        assert found.turns(most) == most_turns(turns, most)


def test_day_and_night_are_evened_out_as_far_as_batteries_last() -> None:
    """Two clients, light in rounds 0 to 2 alone: full batteries of two units can pay four turns in the dark."""
    rows = [[1, 1]] * 3 + [[0, 0]] * 4
    fleet = Fleet(2, Replay(rows), capacity=2)

    assert sorted(clairvoyant(fleet, 7).counts.tolist()) == [0, 1, 1, 1, 1, 1, 1]
    assert clairvoyant(Fleet(2, Replay(rows), capacity=1), 7).least == 0


def test_figures_can_begin_later() -> None:
    fleet = Fleet(3, Replay([[1, 0, 0], [1, 0, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]))
    early, late = clairvoyant(fleet, 5), clairvoyant(fleet, 5, first=3)

    assert (early.first, early.least) == (1, 1)
    assert (late.first, late.least, late.counts.tolist()) == (3, 3, [0, 0, 0, 3, 3])


def test_nobody_can_ever_pay() -> None:
    fleet = Fleet(3, Bernoulli(0.5), capacity=1, cost=2)
    found = clairvoyant(fleet, 9)
    shared = share(simulate(fleet, "greedy", 9), found)

    assert (found.least, found.mean_sqrt, found.first, found.counts.tolist()) == (0, 0.0, 9, [0] * 9)
    assert shared is not None
    assert shared.mean_sqrt == shared.least == 1.0


def physical(seed: int) -> Fleet:
    chance = np.random.default_rng(seed)
    return Fleet.in_joules(
        12, Bernoulli(0.4), capacity=chance.uniform(150, 500, 12), cost=chance.uniform(80, 120, 12), initial=50,
        round_length=3600, arrival=100, efficiency=0.9, self_discharge=0.2, standby=1e-3,
    )  # fmt: skip


FLEETS = {
    "units": Fleet(12, Bernoulli(0.4), capacity=2, initial=1),
    "infinite": Fleet(12, Bernoulli(np.linspace(0.05, 0.9, 12))),
    "unequal": Fleet(12, Bernoulli(0.7), capacity=[2, 3, 4] * 4, cost=[1, 2, 3] * 4),
    "joules": physical(0),
}


@pytest.mark.parametrize("name", SCHEDULERS.members)
@pytest.mark.parametrize("fleet", FLEETS.values(), ids=FLEETS)
def test_no_scheduler_is_above_it(name: str, fleet: Fleet) -> None:
    for seed in range(3):
        played = simulate(fleet, name, 80, seed)
        for first in (None, 20):
            found = clairvoyant(fleet, 80, seed, first=first)
            reached = share(played, found)
            if played.mains_powered:
                assert reached is None
                continue
            assert reached is not None
            assert 0 <= reached.least <= 1
            assert 0 < reached.mean_sqrt <= 1 + 1e-12
            assert reached.exact == found.exact
            for most in range(1, 13):
                assert np.minimum(played.counts[found.first :], most).sum() <= found.turns(most)
            bounded = share(played, clairvoyant(fleet, 80, seed, first=first, quick=True))
            assert bounded is not None and not bounded.exact
            assert bounded.mean_sqrt <= 1 + 1e-12


def test_turns_of_fewer_steps_are_another_game() -> None:
    fleet = Fleet(5, Bernoulli(0.5), capacity=20, cost=10, steps=10, step_cost=1)
    played = simulate(fleet, "adaptive-steps", 30)

    assert played.steps is not None
    assert share(played, clairvoyant(fleet, 30)) is None


@pytest.mark.parametrize("fleet", FLEETS.values(), ids=FLEETS)
def test_the_linear_program_is_a_bound_too_and_meets_it_for_units(fleet: Fleet) -> None:
    found, linear = clairvoyant(fleet, 40), linear_bound(fleet, 40)

    if found.exact:
        assert linear.least == found.least
        assert linear.mean_sqrt == pytest.approx(found.mean_sqrt, abs=1e-6)
    played = simulate(fleet, "greedy", 40)
    assert linear.least >= played.counts[linear.first :].min()
    assert linear.mean_sqrt >= np.sqrt(played.counts[linear.first :]).mean() - 1e-6


def test_equal_arguments_equal_results_and_facts_are_plain() -> None:
    fleet = Fleet(10, Bernoulli(0.3), capacity=4)
    one, other = clairvoyant(fleet, 50, seed=1), clairvoyant(fleet, 50, seed=1)

    assert one.as_facts() == other.as_facts()
    assert set(one.as_facts()) == {"least", "mean_sqrt", "first", "exact"}
    assert one.counts.tolist() == other.counts.tolist()
    assert one.counts.max() <= 10


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rounds": 0}, "rounds must be a whole number in"),
        ({"first": 10}, r"first must be a whole number in \[0, 9\], got 10"),
        ({"first": -1}, "first must be"),
        ({"seed": -1}, "seed must be"),
        ({"rounds": 10**9}, "rounds must be small enough"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], said: str) -> None:
    given: dict[str, object] = {"fleet": Fleet(1000, Bernoulli(0.5)), "rounds": 10} | arguments
    with pytest.raises(InvalidValue, match=said):
        clairvoyant(**given, quick=False)  # type: ignore[arg-type]


def test_a_share_is_of_the_same_rounds_and_weather() -> None:
    fleet = Fleet(4, Bernoulli(0.5))
    best = clairvoyant(fleet, 10)

    with pytest.raises(InvalidValue, match=r"played must be of as many rounds as the optimum \(10\), got 9"):
        share(simulate(fleet, "greedy", 9), best)
    with pytest.raises(InvalidValue, match=r"played must be played on the optimum's seed \(0\), got 1"):
        share(simulate(fleet, "greedy", 10, seed=1), best)
    with pytest.raises(InvalidValue, match=r"counts must be one a round of the optimum \(10\), got shape \(3,\)"):
        best.share_of(np.ones(3, int))
    assert isinstance(best, Optimum)
