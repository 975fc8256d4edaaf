"""Known limits: what theory says of simple fleets, with tolerances that follow from it and fixed seeds."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ehfl.energy import Bernoulli, Fleet
from ehfl.scheduling import Greedy, Myopic, OldestFirst, RoundRobin, simulate


def test_greedys_counts_are_binomial() -> None:
    """Greedy spends each unit in the round after its harvest, so n_t is the sum of the harvests of round t - 1:
    Binomial(10, 1/2), independent from round to round, from round 1 on.
    """
    played = simulate(Fleet(clients=10, harvest=Bernoulli(0.5)), Greedy(), rounds=20_001, seed=1)
    seen = np.bincount(played.counts[1:], minlength=11)

    assert played.counts[0] == 0
    expected = 20_000 * stats.binom.pmf(np.arange(11), 10, 0.5)  # at least 19.5 in each bin
    assert stats.chisquare(seen, expected).pvalue > 0.001
    assert abs(lag_one(played.counts[1:])) < 4.5 / math.sqrt(20_000)


def lag_one(counts: NDArray[np.integer]) -> float:
    return float(np.corrcoef(counts[:-1], counts[1:])[0, 1])


def test_round_robin_of_half_the_fleet_with_one_unit_batteries_has_mean_three_and_three_quarters() -> None:
    """Each client is asked every second round, with an empty battery and two rounds of harvest behind it: it can pay
    with probability 1 - 1/4. The counts from round 2 on are independent Binomial(5, 3/4), of variance 15/16.
    """
    rounds = 20_000
    fleet = Fleet(clients=10, harvest=Bernoulli(0.5), capacity=1)
    counts = simulate(fleet, RoundRobin(per_round=5), rounds + 2, seed=2).counts[2:]

    assert abs(counts.mean() - 3.75) < 4.5 * math.sqrt(15 / 16 / rounds)
    expected = rounds * stats.binom.pmf(np.arange(6), 5, 0.75)
    assert stats.chisquare(np.bincount(counts, minlength=6), expected).pvalue > 0.001


def asked_every_second_round(capacity: int, rate: float) -> NDArray[np.float64]:
    """Return the transition matrix of a client's level from one time it is asked to the next.

    It pays 1 if it has 1, then harvests twice, one round after the other, each time up to the capacity.
    """
    levels = np.arange(capacity + 1)
    pay = np.zeros((capacity + 1, capacity + 1))
    pay[levels, np.maximum(levels - 1, 0)] = 1
    harvest = (1 - rate) * np.eye(capacity + 1)
    harvest[levels, np.minimum(levels + 1, capacity)] += rate
    step: NDArray[np.float64] = pay @ harvest @ harvest
    return step


def stationary(step: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distribution that the chain keeps: pi P = pi, sum pi = 1."""
    size = len(step)
    equations = np.vstack([step.T - np.eye(size), np.ones(size)])
    solution: NDArray[np.float64] = np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return solution


def deviation_of_mean(step: NDArray[np.float64], values: NDArray[np.integer], n: int, chains: int) -> float:
    """Return the standard deviation of the mean of values[level] over n steps of independent chains.

    n Var(mean) -> 2 <f, Z f> - <f, f> for a chain with fundamental matrix Z and f = values less their mean.
    """
    kept = stationary(step)
    centred = values - kept @ values
    fundamental = np.linalg.inv(np.eye(len(step)) - step + np.outer(np.ones(len(step)), kept))
    variance = 2 * (kept * centred) @ fundamental @ centred - (kept * centred) @ centred
    return math.sqrt(variance / n / chains)


def test_the_chain_of_a_one_unit_battery_pays_three_times_in_four() -> None:
    assert stationary(asked_every_second_round(1, 0.5)) == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("capacity", [1, 2, 3, 5])
@pytest.mark.parametrize("rate", [0.3, 0.5])
def test_round_robin_keeps_the_stationary_distribution_of_its_chain(capacity: int, rate: float) -> None:
    """Ten independent clients, each asked n times: the mean count is 5 P(level >= 1), and each level is met as often as
    the chain says, within 4.5 standard deviations.
    """
    rounds, warm_up = 20_000, 200
    fleet = Fleet(clients=10, harvest=Bernoulli(rate), capacity=capacity)
    played = simulate(fleet, RoundRobin(per_round=5), rounds + warm_up, seed=capacity, record_energy=True)
    assert played.energy is not None
    levels = np.stack([played.energy[warm_up:-1:2, :5], played.energy[warm_up + 1 : -1 : 2, 5:]])  # when asked

    step = asked_every_second_round(capacity, rate)
    kept = stationary(step)
    able = np.arange(capacity + 1) >= 1
    tolerance = 4.5 * deviation_of_mean(step, able.astype(int), rounds // 2, chains=10)
    assert abs(played.counts[warm_up:].mean() / 5 - kept[1:].sum()) < tolerance
    for level, probability in enumerate(kept):
        tolerance = 4.5 * deviation_of_mean(step, np.eye(capacity + 1, dtype=int)[level], rounds // 2, chains=10)
        assert abs((levels == level).mean() - probability) < tolerance


def test_myopic_keeps_the_papers_fleet_on_target() -> None:
    """The paper's fleet: 10 clients, rate 0.5, infinite batteries, target 5 of 10, 1,000 rounds."""
    fleet = Fleet(clients=10, harvest=Bernoulli(0.5), capacity=math.inf)
    shares = [float((simulate(fleet, Myopic(target=5), 1000, seed).counts == 5).mean()) for seed in range(25)]

    assert np.mean(shares) >= 0.97


def test_myopic_never_has_more_than_its_target() -> None:
    fleet = Fleet(clients=10, harvest=Bernoulli(0.9))

    assert simulate(fleet, Myopic(target=5), 1000, seed=0).counts.max() == 5


def test_greedys_participants_cannot_outnumber_what_was_harvested_before() -> None:
    """With an infinite battery Greedy's n_t is the harvest of the round before, exactly."""
    fleet = Fleet(clients=10, harvest=Bernoulli(0.5))
    harvested = Bernoulli(0.5).units(3, range(500), range(10)).sum(axis=1)

    assert simulate(fleet, Greedy(), 500, seed=3).counts[1:].tolist() == harvested[:-1].tolist()


def test_oldest_first_makes_nobody_wait_longer_than_it_must() -> None:
    """Ten clients that can always pay, three a round: whoever went last waits until the other seven have gone, two or
    three rounds of others between, so that a client's turns are three or four rounds apart.
    """
    fleet = Fleet(clients=10, harvest=Bernoulli(1.0), initial=1)
    played = simulate(fleet, OldestFirst(target=3), rounds=101, seed=5)
    gaps = np.concatenate([np.diff([t for t in range(101) if client in played.clients(t)]) for client in range(10)])

    assert (played.counts == 3).all()
    assert played.turns().sum() == 303
    assert set(gaps.tolist()) == {3, 4}
