"""Chances: the integral against all subsets, estimates against what is exact, and what was played, by hand."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ehfl.arrays import IntArray
from ehfl.energy import Bernoulli, Fleet, Replay
from ehfl.randomness import TILE
from ehfl.scheduling import (
    AlwaysOn,
    Chances,
    Greedy,
    Myopic,
    Participation,
    RoundRobin,
    View,
    chances,
    exact_chances,
    observed_chances,
    simulate,
)
from ehfl.scheduling.probability import _is_independent
from ehfl.theory.participants import independent_weights
from ehfl.validation import InvalidValue

TEN = np.linspace(0.1, 0.9, 10)


def over_all_subsets(rates: list[float]) -> NDArray[np.float64]:
    """Return q_i by its definition: the sum over all sets of participants that are not empty."""
    weights = np.zeros(len(rates))
    for inside in itertools.product([False, True], repeat=len(rates)):
        if any(inside):
            chance = math.prod(rate if yes else 1 - rate for rate, yes in zip(rates, inside, strict=True))
            weights[list(inside)] += chance / sum(inside)
    return weights / (1 - math.prod(1 - rate for rate in rates))


# exact


def test_ten_rates_from_a_tenth_to_nine_tenths_have_the_weights_of_the_issue() -> None:
    found = chances(Fleet(clients=10, harvest=Bernoulli(TEN)), Greedy(), rounds=100)

    assert (found.weights[0], found.weights[-1], found.chi_square) == pytest.approx((0.018, 0.192, 0.305), abs=5e-4)
    assert found.probabilities.tolist() == TEN.tolist()
    assert (found.exact, found.seeds, found.rounds, found.chi_square_error) == (True, 0, 99, 0.0)
    assert not found.probabilities_error.any() and not found.weights_error.any()


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=7).filter(lambda rates: max(rates) > 1e-3))
def test_the_integral_is_the_sum_over_all_subsets(rates: list[float]) -> None:
    assert independent_weights(np.array(rates)) == pytest.approx(over_all_subsets(rates), rel=1e-9, abs=1e-12)


def test_who_is_always_there_shares_with_who_comes_along() -> None:
    """Rates 1, 1/2 and 0: alone half of the time, one of two in the other half; who never comes weighs nothing."""
    assert independent_weights(np.array([1.0, 0.5, 0.0])) == pytest.approx([0.75, 0.25, 0.0], abs=1e-15)


@pytest.mark.parametrize("clients", [1, 2, 7, 1000, 4096])
@pytest.mark.parametrize("rate", [1e-12, 0.3, 1.0])
def test_equal_rates_weigh_one_nth(clients: int, rate: float) -> None:
    weights = independent_weights(np.full(clients, rate))

    assert weights == pytest.approx(1 / clients, rel=1e-12)


def test_a_thousand_clients_are_as_exact_as_ten() -> None:
    """By recursion over the number of others that take part, a sum of positive terms, for a few of them."""
    rates = np.linspace(0.001, 0.999, 1000)
    weights = independent_weights(rates)

    assert weights.sum() == pytest.approx(1, rel=1e-13)
    for client in (0, 500, 999):
        others = np.zeros(1000)
        others[0] = 1.0
        for rate in np.delete(rates, client):
            others[1:] = others[1:] * (1 - rate) + others[:-1] * rate
            others[0] *= 1 - rate
        heard = rates[client] * (others / np.arange(1, 1001)).sum()  # P(S empty) is 0 to the last digit
        assert weights[client] == pytest.approx(heard, rel=1e-11)


def test_a_battery_that_cannot_hold_the_cost_is_never_heard() -> None:
    found = chances(Fleet(clients=3, harvest=Bernoulli(0.5), capacity=[1, 0, 4]), "greedy", rounds=9)

    assert found.exact and found.probabilities.tolist() == [0.5, 0.0, 0.5]
    assert found.weights == pytest.approx([0.5, 0.0, 0.5])


def test_where_nobody_ever_takes_part_nobody_weighs_anything() -> None:
    for scheduler in (Greedy(), Myopic()):
        found = chances(Fleet(clients=3, harvest=Bernoulli(0.0)), scheduler, rounds=5)
        assert not found.has_turns and not found.probabilities.any() and not found.weights.any()
        assert (found.chi_square, found.chi_square_error) == (0, 0)


@pytest.mark.parametrize(("scheduler", "target", "drawn"), [("always-on", 3, 3), ("always-on:2", None, 2)])
def test_on_mains_power_all_are_heard_alike(scheduler: str, target: int | None, drawn: int) -> None:
    fleet = Fleet(clients=4, harvest=Bernoulli(0.1))
    found = chances(fleet, scheduler, rounds=7, target=target)

    assert found.exact and found.rounds == 7
    assert (
        found.probabilities.tolist() == [drawn / 4] * 4
        and found.weights.tolist() == [0.25] * 4
        and found.chi_square == 0
    )
    assert observed_chances(simulate(fleet, scheduler, rounds=7, target=target)).probabilities.sum() == pytest.approx(
        drawn
    )


@pytest.mark.parametrize(
    "fleet",
    [
        Fleet(clients=3, harvest=Bernoulli(0.5), cost=2),
        Fleet(clients=3, harvest=Bernoulli(0.5), initial=1),
        Fleet(clients=3, harvest=Replay([[1, 0, 1]] * 9)),
        Fleet(clients=3, harvest=Bernoulli(0.5), efficiency=[1.0, 0.5, 1.0]),
        Fleet(clients=3, harvest=Bernoulli(0.5), leak=0.1),
        Fleet(clients=3, harvest=Bernoulli(0.5), drain=0.1),
    ],
    ids=["cost", "start", "harvest", "efficiency", "leak", "drain"],
)
def test_what_the_integral_does_not_hold_for_is_estimated(fleet: Fleet) -> None:
    assert not chances(fleet, "greedy", rounds=5, seeds=2).exact


ODD: dict[str, list[Any]] = {
    "nothing": [],
    "efficiency": [1.0, 0.5, 0.2],
    "leak": [0.0, 0.4],
    "drain": [0.0, 0.7],
    "cost": [1, 2],
    "initial": [0, 1],
}
LONG = 4001  # rounds, the first of which is empty


@pytest.mark.parametrize("odd", ODD)
@settings(max_examples=15, deadline=None)
@given(data=st.data(), scheduler=st.sampled_from([Greedy(), AlwaysOn(1), AlwaysOn()]), seed=st.integers(0, 2**32))
def test_where_chances_are_exact_a_long_simulation_agrees(
    odd: str, data: st.DataObject, scheduler: Any, seed: int
) -> None:
    """Rounds are independent, and what is averaged lies in [0, 1]: by Hoeffding a mean over T rounds is off by more
    than e with probability 2 exp(-2 T e^2) at most, which is 1e-9 at e = sqrt(log(2e9) / (2 T)).
    """
    clients = data.draw(st.integers(1, 5))

    def each(values: list[Any]) -> list[Any]:
        return data.draw(st.lists(st.sampled_from(values), min_size=clients, max_size=clients))

    capacity = each([1, 3, math.inf] if odd == "initial" else [0, 1, 3, math.inf])
    parts: dict[str, Any] = {odd: each(ODD[odd])} if ODD[odd] else {}
    fleet = Fleet(clients, Bernoulli(each([0.6, 0.1, 1.0, 0.0])), capacity=capacity, **parts)
    found = exact_chances(fleet, scheduler, LONG)
    if found is None:
        assert isinstance(scheduler, Greedy) and odd != "nothing"  # on mains power chances are exact on every fleet
        return

    def limit(rounds: int) -> float:
        return math.sqrt(math.log(2e9) / (2 * max(rounds, 1)))

    played = simulate(fleet, scheduler, LONG, seed=seed)
    seen = observed_chances(played)
    assert (abs(seen.probabilities - found.probabilities) <= limit(seen.rounds)).all()
    assert (abs(seen.weights - found.weights) <= limit(int(np.count_nonzero(played.counts)))).all()


def test_charging_losses_make_chances_smaller_than_rates() -> None:
    """Of a unit 1, 0.5, 0.5 and 0.2 are stored, rounded to whole units in turn, so clients are heard that much less."""
    fleet = Fleet(clients=4, harvest=Bernoulli(0.6), efficiency=[1.0, 0.5, 0.5, 0.2])
    found = chances(fleet, "greedy", rounds=1000)

    # 20 seeds of 999 rounds have a standard error of sqrt(0.24 / 19,980) = 0.0035 at most.
    assert not found.exact and found.probabilities == pytest.approx([0.6, 0.3, 0.3, 0.12], abs=0.02)
    assert found.chi_square > 0.1


def test_more_clients_than_a_tile_are_estimated() -> None:
    assert [_is_independent(Fleet(clients=n, harvest=Bernoulli(0.5))) for n in (TILE, TILE + 1)] == [True, False]


# estimated


class Eager:
    """Everyone who can pay, under a name for which nothing is known."""

    def select(self, view: View) -> IntArray:
        return view.able()


def test_an_estimate_is_as_far_from_the_truth_as_its_error_says() -> None:
    """Ten weights and ten chances, each within 4.5 standard errors, which are as large as they must be: the rounds of
    Greedy are independent, so that p_i has the error sqrt(p (1 - p) / rounds), estimated from 40 seeds to 11 %.
    """
    fleet = Fleet(clients=10, harvest=Bernoulli(TEN))
    exact, found = chances(fleet, Greedy(), rounds=201), chances(fleet, Eager(), rounds=201, seeds=40)

    assert (found.exact, found.seeds, found.rounds) == (False, 40, 40 * 200)
    assert (abs(found.probabilities - exact.probabilities) < 4.5 * found.probabilities_error).all()
    assert (abs(found.weights - exact.weights) < 4.5 * found.weights_error).all()
    assert found.probabilities_error == pytest.approx(np.sqrt(TEN * (1 - TEN) / 8000), rel=4.5 / math.sqrt(2 * 39))
    assert found.weights.sum() == pytest.approx(1)
    assert abs(found.chi_square - exact.chi_square) < 4.5 * found.chi_square_error < 0.1


def test_chi_square_of_equal_clients_is_no_larger_than_its_error_allows() -> None:
    """Without the correction, chance alone would make it some N (1 - 1/N) Var / rounds above 0."""
    found = chances(Fleet(clients=10, harvest=Bernoulli(0.5)), Eager(), rounds=101)

    assert found.chi_square < 3 * found.chi_square_error < 0.005


def test_estimates_belong_to_their_seed() -> None:
    fleet = Fleet(clients=4, harvest=Bernoulli(0.4), capacity=3)
    a, b, other = (chances(fleet, "myopic", rounds=30, seed=seed, seeds=3) for seed in (5, 5, 6))

    assert a.weights.tolist() == b.weights.tolist() != other.weights.tolist()
    runs = [observed_chances(simulate(fleet, "myopic", rounds=30, seed=seed)).weights.tolist() for seed in range(8)]
    assert a.weights.tolist() not in runs


def test_round_zero_counts_where_somebody_can_pay() -> None:
    always = Bernoulli(1.0)
    for initial, rounds in ((0, 8), (1, 10)):
        found = chances(Fleet(clients=2, harvest=always, initial=initial), RoundRobin(1), rounds=5, seeds=2)
        assert found.rounds == rounds  # in two seeds
        assert found.probabilities.sum() == pytest.approx(1)
        assert not found.weights_error.any()


# played


@pytest.fixture
def worked() -> Participation:
    """N_t = {}, {0, 2}, {1}, {}, {2}."""
    arrivals = [[1, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]]
    return simulate(Fleet(clients=3, harvest=Replay(arrivals)), Greedy(), rounds=5)


def test_what_was_played_is_counted_by_hand(worked: Participation) -> None:
    found = observed_chances(worked)

    assert found.probabilities.tolist() == [1 / 4, 1 / 4, 2 / 4]
    assert found.weights == pytest.approx([0.5 / 3, 1 / 3, 1.5 / 3])
    assert found.chi_square == pytest.approx(3 * (1 / 36 + 0 + 1 / 36))
    assert (found.rounds, found.seeds, found.exact) == (4, 1, False)
    assert np.isinf(found.weights_error).all() and math.isinf(found.chi_square_error)


def test_several_participations_count_by_their_rounds(worked: Participation) -> None:
    """Two rounds more, {} and {0}: of four rounds with anybody client 0 has 1.5, client 1 has 1, client 2 has 1.5."""
    other = simulate(Fleet(clients=3, harvest=Replay([[1, 0, 0], [0, 0, 0]])), Greedy(), rounds=2)
    found = observed_chances([worked, other])

    assert found.probabilities == pytest.approx([2 / 5, 1 / 5, 2 / 5])
    assert found.weights == pytest.approx([1.5 / 4, 1 / 4, 1.5 / 4])
    assert (found.rounds, found.seeds) == (5, 2)
    residuals = np.array([[0.5 - 4.5 / 4, 1 - 3 / 4, 1.5 - 4.5 / 4], [1 - 1.5 / 4, -1 / 4, -1.5 / 4]]) / 2
    assert found.weights_error == pytest.approx(np.sqrt((residuals**2).sum(axis=0) / 2))


def test_turns_are_counted_in_blocks_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    played = simulate(Fleet(clients=7, harvest=Bernoulli(0.5)), Greedy(), rounds=50, seed=3)
    whole = observed_chances(played)
    monkeypatch.setattr("ehfl.scheduling.participation._AT_ONCE", 3)

    assert observed_chances(played).weights == pytest.approx(whole.weights, rel=1e-12)


def test_participations_of_different_fleets_and_none_are_refused(worked: Participation) -> None:
    other = simulate(Fleet(clients=2, harvest=Bernoulli(0.5)), Greedy(), rounds=3)
    with pytest.raises(InvalidValue, match=r"participations must be some of one number of clients, got numbers \[2, 3"):
        observed_chances([worked, other])
    with pytest.raises(InvalidValue, match=r"got numbers \[\]"):
        observed_chances([])


@pytest.mark.parametrize(("name", "value"), [("seeds", 1), ("rounds", 0), ("target", 9), ("seed", -1)])
def test_wrong_numbers_are_refused_by_name(name: str, value: int) -> None:
    arguments: dict[str, Any] = {"rounds": 5, name: value}
    with pytest.raises(InvalidValue, match=f"{name} must be a whole number"):
        chances(Fleet(clients=2, harvest=Bernoulli(0.5)), "greedy", **arguments)


def test_chances_are_public() -> None:
    import ehfl

    assert ehfl.Chances is Chances and ehfl.chances is chances and ehfl.observed_chances is observed_chances
