"""The exact law of how many take part: by hand, by enumeration, beside simulation, and what must hold of any."""

from __future__ import annotations

import math
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from ehfl import SCHEDULERS, Bernoulli, Fleet, Replay, simulate
from ehfl.analysis import estimate
from ehfl.theory import Batteries, Turnout, long_run_turnout, turnout_law

PAGE = (Path(__file__).parents[2] / "docs" / "theory.md").read_text(encoding="utf-8")
NAMES: Any = ("myopic", "greedy", "round-robin")
PAPER: dict[str, Any] = {"clients": 10, "rate": 0.5}


# --- values worked by hand ---


def test_one_client_takes_part_when_it_has_harvested_since_its_last_turn() -> None:
    for name in NAMES:
        found = turnout_law(name, Batteries(clients=1, rate=0.3, capacity=1), rounds=3)

        assert found.law == pytest.approx(np.array([[1, 0], [0.7, 0.3], [0.7, 0.3]]))
        assert found.wasted.tolist() == [0, 0, 0]
        assert long_run_turnout(name, Batteries(1, 0.3, 5)).law == pytest.approx([0.7, 0.3])


def test_two_clients_under_myopic_with_one_unit_each() -> None:
    """r = (N - 1)+ stays; N' = r + Bin(2 - r, 1/2), so from N = 2 a unit is wasted in half of the rounds."""
    found = turnout_law("myopic", Batteries(clients=2, rate=0.5, capacity=1), rounds=3, target=1)

    assert found.law.tolist() == [[1, 0, 0], [1 / 4, 3 / 4, 0], [3 / 16, 13 / 16, 0]]
    assert found.wasted.tolist() == [0, 1 / 8, 5 / 32]  # N_2 is 2 with 3/4 * 1/4 + 1/4 * 1/2


def test_two_clients_by_turns_lose_what_comes_in_between() -> None:
    """A client's turn is every other round: it has a unit if either of two harvests brought one."""
    found = long_run_turnout("round-robin", Batteries(clients=2, rate=[0.5, 0.2], capacity=1), target=1)

    assert found.law == pytest.approx([1 - (0.75 + 0.36) / 2, (0.75 + 0.36) / 2, 0])
    assert float(found.wasted) == pytest.approx((0.5 * 0.5 + 0.2 * 0.2) / 2)


def test_the_fuller_of_two_batteries_goes_first_and_ties_are_drawn() -> None:
    """From (2, 1) client 0 pays; without harvests (1, 1) is a tie, and the one that paid not is left."""
    still = Batteries(clients=2, rate=0, capacity=2, initial=[2, 1])
    assert turnout_law("myopic", still, rounds=4, target=1).law[:, 1].tolist() == [1, 1, 1, 0]

    # Of (1, 1) one pays; client 1 always harvests, so it wastes its unit unless it was the one that paid.
    tied = Batteries(clients=2, rate=[0, 1], capacity=1, initial=1)
    assert turnout_law("myopic", tied, rounds=2, target=1).wasted.tolist() == [0.5, 0.25]


def test_the_papers_fleet_with_batteries_of_one_unit() -> None:
    """The figures of the issue: five in 71.5 % of 150 rounds, mean 4.534."""
    found = turnout_law("myopic", Batteries(**PAPER, capacity=1), rounds=150, target=5)

    assert found.law[:, 5].mean() == pytest.approx(0.715, abs=5e-4)
    assert found.mean.mean() == pytest.approx(4.534, abs=5e-4)


# --- against every harvest that can be ---


def enumerated(name: str, rates: list[float], capacity: int, width: int, rounds: int) -> np.ndarray:
    """Return the law of n_t summed over all harvests, and over all orders in which ties may be broken."""
    M = len(rates)
    law, states = np.zeros((rounds, M + 1)), {(0,) * M: 1.0}
    for t in range(rounds):
        after: dict[tuple[int, ...], float] = {}
        for levels, chance in states.items():
            for order in permutations(range(M)) if name == "myopic" else [range(M)]:
                fullest = sorted(order, key=lambda i: -levels[i])[:width]  # sorted keeps the order of equals
                asked = {
                    "myopic": fullest,
                    "greedy": range(M),
                    "round-robin": [(t * width + k) % M for k in range(width)],
                }[name]
                takers = {i for i in asked if levels[i] >= 1}
                own = chance / math.factorial(M) if name == "myopic" else chance
                law[t, len(takers)] += own
                for units in product((0, 1), repeat=M):
                    weight = math.prod(r if u else 1 - r for r, u in zip(rates, units, strict=True))
                    new = tuple(min(levels[i] - (i in takers) + units[i], capacity) for i in range(M))
                    after[new] = after.get(new, 0.0) + own * weight
        states = after
    return law


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rates", [[0.4, 0.4, 0.4], [0.1, 0.5, 0.9], [1.0, 0.3, 0.3]])
@pytest.mark.parametrize(("capacity", "width"), [(1, 2), (2, 1), (2, 2), (3, 3)])
def test_the_law_is_the_sum_over_all_harvests(name: Any, rates: list[float], capacity: int, width: int) -> None:
    found = turnout_law(name, Batteries(clients=3, rate=rates, capacity=capacity), rounds=5, target=width)

    assert np.abs(found.law - enumerated(name, rates, capacity, width, rounds=5)).max() < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_the_law_is_that_of_the_schedulers_that_are_played(name: Any) -> None:
    """`simulate` on each harvest of three rounds (n_t sees none of the fourth); with equal rates ties do not matter."""
    rate, rounds, found = 0.3, 4, np.zeros((4, 3))
    for bits in product((0, 1), repeat=2 * (rounds - 1)):
        fleet = Fleet(2, Replay(np.reshape((*bits, 0, 0), (rounds, 2))), capacity=2)
        counts = simulate(fleet, SCHEDULERS.make(name), rounds, target=1).counts
        found[range(rounds), counts] += rate ** sum(bits) * (1 - rate) ** (len(bits) - sum(bits))

    law = turnout_law(name, Batteries(clients=2, rate=rate, capacity=2), rounds, target=1).law
    assert np.abs(law - found).max() < 1e-12


# --- beside simulation ---


@pytest.mark.parametrize("name", NAMES)
def test_the_law_of_a_round_is_what_seeds_give(name: Any) -> None:
    """How often n_t = n among 120 seeds is binomial: each within its quantiles, at 1 in 1,000 for all together."""
    rates, t, seeds = [0.2, 0.4, 0.6, 0.8], 5, 120
    fleet, law = Fleet(4, Bernoulli(rates), capacity=2), turnout_law(name, Batteries(4, rates, 2), t + 1, target=2).law
    counts = [simulate(fleet, SCHEDULERS.make(name), t + 1, seed, target=2).counts[t] for seed in range(seeds)]
    seen = np.bincount(counts, minlength=5)

    tail = 1e-3 / 2 / seen.size
    assert (seen >= binom.ppf(tail, seeds, law[t])).all() and (seen <= binom.isf(tail, seeds, law[t])).all()


def test_the_mean_of_rounds_is_within_its_own_error_of_the_law() -> None:
    """Means over rounds, which depend on each other: their variance is exact, from the chain written out by hand."""
    M, target, rounds, seeds = 10, 5, 150, 12
    played = [simulate(Fleet(M, Bernoulli(0.5), capacity=1), "myopic", rounds, seed).counts for seed in range(seeds)]
    left = np.maximum(np.arange(M + 1) - target, 0)
    moves = binom.pmf(np.arange(M + 1) - left[:, None], M - left[:, None], 0.5)
    found = turnout_law("myopic", Batteries(**PAPER, capacity=1), rounds)
    for values in (np.minimum(np.arange(M + 1), target), np.arange(M + 1) >= target):  # n_t, and whether five take part
        first, second = np.zeros(M + 1), np.zeros(M + 1)  # moments of the sum over the rounds that are left
        for _ in range(rounds):
            second = values**2 + 2 * values * (moves @ first) + moves @ second
            first = values + moves @ first
        error = math.sqrt((second[0] - first[0] ** 2) / seeds) / rounds

        assert (found.law @ values).mean() == pytest.approx(first[0] / rounds, abs=1e-12)
        assert abs(np.mean([values[counts] for counts in played]) - first[0] / rounds) < 3.3 * error  # 1 in 1,000


@pytest.mark.parametrize(
    ("arm", "batteries", "enough"),
    [
        ("myopic", "1", 1),
        ("round-robin", "1", 1),
        ("greedy", "1", 1),
        ("myopic", "infinite", 8),
        ("round-robin", "infinite", math.inf),
    ],
)
def test_the_page_sets_the_laws_beside_the_papers_experiment(arm: Any, batteries: str, enough: float) -> None:
    """The measured ones are of the four seeds of results/, which tests/test_paper.py finds again by simulation.

    A battery of eight units is as good as infinite: n_t is another only if a unit was wasted, which is no likelier than
    the waste expected in all rounds together.
    """
    law = turnout_law(arm, Batteries(**PAPER, capacity=enough), 150)
    fleet = Fleet(10, Bernoulli(0.5), capacity=1 if batteries == "1" else math.inf)
    played = [simulate(fleet, SCHEDULERS.make(arm), 150, seed) for seed in range(4)]
    share = estimate([100 * one.summary(5).on_target for one in played])
    mean = estimate([one.counts.mean() for one in played])
    reached = 100 * law.law[:, 5:].sum(axis=1).mean()
    assert share.low is not None and share.high is not None and mean.low is not None and mean.high is not None

    shares = f"{reached:.1f} | {share.mean:.1f} ({share.low:.1f} to {share.high:.1f})"
    means = f"{law.mean.mean():.2f} | {mean.mean:.2f} ({mean.low:.2f} to {mean.high:.2f})"
    assert f"| {batteries} | {arm} | {shares} | {means} |" in PAGE
    assert share.low <= reached <= share.high and mean.low <= law.mean.mean() <= mean.high
    assert batteries == "1" or law.wasted.sum() < 0.002


# --- what must hold ---

RATES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 0.99]) | st.floats(0, 0.999), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(NAMES), rates=RATES, capacity=st.integers(1, 3), data=st.data())
def test_laws_are_laws_and_energy_goes_nowhere(
    name: Any, rates: list[float], capacity: int, data: st.DataObject
) -> None:
    M = len(rates)
    target = data.draw(st.integers(1, M))
    initial = data.draw(st.lists(st.integers(0, capacity), min_size=M, max_size=M))
    batteries = Batteries(M, rates, capacity, initial)
    found, rest = turnout_law(name, batteries, 30, target), long_run_turnout(name, batteries, target)

    for law in (found.law, rest.law):
        assert law.min() >= 0 and law.sum(axis=-1) == pytest.approx(1)
    assert rest.mean + rest.wasted == pytest.approx(sum(rates), abs=1e-9)  # harvest = turns + waste
    stored = sum(initial) + 30 * sum(rates) - found.mean.sum() - found.wasted.sum()
    assert -1e-9 <= stored <= M * capacity + 1e-9


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rates", [0.5, [0.2, 0.5, 0.6, 0.7]])
def test_the_start_is_forgotten(name: Any, rates: Any) -> None:
    for initial in (0, 2):
        found = turnout_law(name, Batteries(4, rates, 2, initial), rounds=400, target=2)
        rest = long_run_turnout(name, Batteries(4, rates, 2, initial), target=2)

        assert found.law[-2:].mean(axis=0) == pytest.approx(rest.law, abs=1e-9)  # by turns the cycle is of two rounds
        assert found.wasted[-2:].mean() == pytest.approx(float(rest.wasted), abs=1e-9)
    assert np.abs(found.law[5] - rest.law).max() > 1e-3


def test_schedulers_that_ask_everyone_are_one() -> None:
    batteries = Batteries(4, [0.2, 0.4, 0.4, 0.9], capacity=3, initial=[3, 0, 1, 2])
    laws = [turnout_law(name, batteries, 20, target=4).law for name in NAMES]

    assert laws[0] == pytest.approx(laws[1], abs=1e-14) and laws[2] == pytest.approx(laws[1], abs=1e-14)


def test_the_short_chain_of_clients_alike_is_the_long_one() -> None:
    """A hair's breadth between the rates takes the chain of all levels."""
    alike, apart = Batteries(4, 0.4, 2, [2, 1, 0, 0]), Batteries(4, [0.4, 0.4, 0.4, 0.4 + 1e-15], 2, [2, 1, 0, 0])
    for one, other in (
        (turnout_law("myopic", alike, 12, 2), turnout_law("myopic", apart, 12, 2)),
        (long_run_turnout("myopic", alike, 2), long_run_turnout("myopic", apart, 2)),
    ):
        assert one.law == pytest.approx(other.law, abs=1e-12) and one.wasted == pytest.approx(other.wasted, abs=1e-12)


def test_an_infinite_battery_is_one_that_rounds_cannot_fill() -> None:
    for name in NAMES:
        endless = turnout_law(name, Batteries(3, 0.6, math.inf), rounds=6, target=1)

        assert endless.wasted.tolist() == [0] * 6
        assert endless.law == pytest.approx(turnout_law(name, Batteries(3, 0.6, 6), 6, 1).law, abs=1e-14)


def test_means_are_of_the_law() -> None:
    assert Turnout(np.array([[0.5, 0.5, 0], [0, 0, 1]]), np.zeros(2)).mean.tolist() == [0.5, 2]
