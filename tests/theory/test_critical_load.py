"""What no scheduler can beat, harvest by harvest, and how it falls short at critical load."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import zeta
from scipy.stats import binom

from ehfl import SCHEDULERS, Bernoulli, Fleet, simulate
from ehfl.theory import Batteries, critical_shortfall, pooled_turnout, turnout_law


def pooled(harvests: np.ndarray, target: int, most: float, initial: int = 0) -> np.ndarray:
    """Return the turns of the pooled battery on these harvests, (n_rounds, n_clients)."""
    turns, level = [], initial
    for units in harvests:
        turns.append(min(level, target))
        level = int(min(level - turns[-1] + units.sum(), most))
    return np.array(turns)


@pytest.mark.parametrize("name", [name for name in SCHEDULERS.members if name != "always-on"])
@pytest.mark.parametrize("capacity", [1, math.inf])
def test_no_scheduler_beats_the_pooled_battery_on_any_harvest(name: str, capacity: float) -> None:
    M, target, rounds = 6, 3, 60
    harvest = Bernoulli(np.linspace(0.2, 0.8, M))
    for seed in range(3):
        counts = simulate(Fleet(M, harvest, capacity=capacity), name, rounds, seed, target=target).counts
        most = pooled(harvest.units(seed, range(rounds), range(M)), target, M * capacity)

        assert (np.minimum(counts, target).cumsum() <= most.cumsum()).all()


@settings(max_examples=100, deadline=None)
@given(
    chances=arrays(np.float64, (12, 2, 4), elements=st.floats(0, 1)),
    capacity=st.sampled_from([1, 2, 3, 12]),
    target=st.integers(1, 4),
    initial=st.lists(st.integers(0, 1), min_size=4, max_size=4),
)
def test_nor_does_one_that_picks_as_it_likes(
    chances: np.ndarray, capacity: int, target: int, initial: list[int]
) -> None:
    """Participants are any that can pay, be they as they may; batteries full or not."""
    levels, counts = np.array(initial), []
    harvests, wishes = (chances[:, k] > 0.5 for k in (0, 1))
    for units, wish in zip(harvests, wishes, strict=True):
        takes_part = wish & (levels > 0)
        counts.append(min(int(takes_part.sum()), target))
        levels = np.minimum(levels - takes_part + units, capacity)
    assert (np.cumsum(counts) <= pooled(harvests, target, 4 * capacity, sum(initial)).cumsum()).all()


@pytest.mark.parametrize("capacity", [1, 2, math.inf])
def test_the_pooled_law_is_the_sum_over_all_harvests(capacity: float) -> None:
    rates, rounds, found = [0.3, 0.6], 5, np.zeros((5, 3))
    for number in range(4**rounds):
        harvests = (number >> np.arange(2 * rounds) & 1).reshape(rounds, 2)
        chance = math.prod(np.where(harvests, rates, 1 - np.array(rates)).ravel())
        found[range(rounds), pooled(harvests, 1, 2 * capacity, initial=2)] += chance

    law = pooled_turnout(Batteries(2, rates, capacity, initial=1), rounds, target=1).law
    assert np.abs(law - found).max() < 1e-12


def test_with_a_target_of_one_myopic_is_the_pooled_battery() -> None:
    """Someone can pay as long as anything is stored: what no scheduler can beat is reached."""
    for clients, rate, rounds in ((2, 0.5, 40), (3, 1 / 3, 15)):
        batteries = Batteries(clients, rate, math.inf)
        reached, most = turnout_law("myopic", batteries, rounds, 1), pooled_turnout(batteries, rounds, 1)

        assert np.abs(reached.law - most.law).max() < 1e-12


def test_energy_of_the_pooled_battery_goes_nowhere() -> None:
    """In small batteries it comes to rest, and then what is harvested is spent or wasted."""
    found = pooled_turnout(Batteries(4, [0.2, 0.5, 0.6, 0.7], capacity=2), rounds=600, target=2)

    assert found.mean[-1] + found.wasted[-1] == pytest.approx(2.0, abs=1e-9)
    assert found.wasted[-1] > 0.01


@pytest.mark.parametrize(("clients", "rounds"), [(2, 300), (10, 150), (10, 600)])
def test_the_shortfall_is_the_maximum_of_a_random_walk(clients: int, rounds: int) -> None:
    """Spitzer: E max_{j <= n} S_j = sum_{j <= n} E S_j^+ / j, of binomial sums by De Moivre's mean deviation."""
    M, target = clients, clients // 2
    law = pooled_turnout(Batteries(M, 0.5, math.inf), rounds).law
    exact = (target - law @ np.arange(M + 1)).sum()
    j = np.arange(1, rounds)
    deviation = M * j / 2 * binom.pmf(M * j // 2, M * j, 0.5)  # E |Bin(m, 1/2) - m/2| = (m/2) P(Bin = m/2), m even
    spitzer = target + (deviation / 2 / j).sum()

    assert exact == pytest.approx(spitzer, rel=1e-9)
    # docs/theory.md: between ends that are 0.1 turns apart at most; a tenth of the constant would be 1 and more.
    unit = math.sqrt(M / 4 / (2 * math.pi))
    error = exact - rounds * critical_shortfall(target, M / 4, rounds)
    assert -unit * zeta(1.5) / (4 * M) <= error <= unit / (2 * math.sqrt(rounds - 1))


def test_the_papers_rule_is_met_in_the_limit_alone() -> None:
    """Four times the rounds, half the shortfall that is left; with a target below the harvest it ends at once."""
    at_load = [5 - pooled_turnout(Batteries(10, 0.5, math.inf), T, 5).mean for T in (150, 600)]
    below = 4 - pooled_turnout(Batteries(10, 0.5, math.inf), 150, 4).mean
    above = 6 - pooled_turnout(Batteries(10, 0.5, math.inf), 150, 6).mean

    assert at_load[1][-1] / at_load[0][-1] == pytest.approx(0.5, rel=0.01)
    assert below[-1] < 1e-3 * at_load[0][-1]
    assert above[-1] == pytest.approx(1.0, abs=1e-4)  # what is wanted beyond the harvest


def test_a_harvest_that_never_varies_falls_short_once() -> None:
    assert critical_shortfall(3, 0.0, 10) == pytest.approx(0.3)
    assert (3 - pooled_turnout(Batteries(3, 1, math.inf), 10).mean).tolist() == [3] + [0] * 9
