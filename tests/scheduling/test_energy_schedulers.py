"""The schedulers for real energy, worked by hand: MostRoundsLeft, Threshold, Lyapunov and Forecast."""

from __future__ import annotations

import math
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.energy import Bernoulli, Fleet, Replay
from ehfl.scheduling import Forecast, Lyapunov, MostRoundsLeft, Myopic, Threshold, View, simulate
from ehfl.validation import InvalidValue, UserError


def view_of(*energy: int, round_: int = 0, **facts: Any) -> View:
    if "rates" in facts:
        facts["rates"] = np.array(facts["rates"], float)
    if isinstance(facts.get("cost"), list):
        facts["cost"] = np.array(facts["cost"])
    return View(round_, np.array(energy, np.int32), **facts)


# most rounds left


def test_the_longest_queue_is_the_one_with_the_most_rounds_in_it() -> None:
    """3/9, 8/4, 5/2, 2/1: client 0 cannot pay, then 2.5 before 2, 2."""
    view = view_of(3, 8, 5, 2, cost=[9, 4, 2, 1])

    assert MostRoundsLeft(1).select(view).tolist() == [2]
    assert MostRoundsLeft(3).select(view).tolist() == [1, 2, 3]
    assert MostRoundsLeft(4).select(view).tolist() == [1, 2, 3]


def test_rounds_left_are_compared_and_not_energy_nor_whole_rounds() -> None:
    assert MostRoundsLeft(1).select(view_of(100, 3, cost=[60, 1])).tolist() == [1]
    assert MostRoundsLeft(1).select(view_of(17, 16, cost=[10, 10])).tolist() == [0]  # both have one whole round


@given(
    levels=st.lists(st.integers(0, 5), min_size=1, max_size=9),
    cost=st.integers(1, 3),
    t=st.integers(0, 99),
    data=st.data(),
)
def test_where_costs_are_equal_it_is_myopic_to_the_bit(levels: list[int], cost: int, t: int, data: Any) -> None:
    count = data.draw(st.integers(1, len(levels)))
    one, each = (view_of(*levels, round_=t, cost=given) for given in (cost, [cost] * len(levels)))
    expected = Myopic(count).select(one).tolist()

    assert MostRoundsLeft(count).select(one).tolist() == expected
    assert MostRoundsLeft(count).select(each).tolist() == expected


@given(st.integers(1, 2**26), st.integers(1, 2**26), st.integers(1, 2**26), st.integers(1, 2**26))
def test_ratios_of_numbers_up_to_two_to_the_26_are_compared_exactly(a: int, b: int, c: int, d: int) -> None:
    """They differ by a part in 2^52 at least, if they do."""
    assert (a / b > c / d) == (a * d > c * b) and (a / b == c / d) == (a * d == c * b)


# threshold


def test_threshold_takes_the_richest_of_those_who_keep_the_reserve() -> None:
    """Rounds left are 3, 2, 2.5 and 4; with a reserve of 1.5 one needs 2.5."""
    view = view_of(3, 4, 5, 4, cost=[1, 2, 2, 1])

    assert Threshold(1.5, target=4).select(view).tolist() == [0, 2, 3]
    assert Threshold(1.5, target=2).select(view).tolist() == [0, 3]
    assert Threshold(3, target=4).select(view).tolist() == [3]


def test_a_reserve_is_rounded_up_to_what_can_be_kept_and_no_further() -> None:
    """A tenth of 30 is 3, though 0.1 is a little more than a tenth; half of 3 is 2 in whole units."""
    assert Threshold(0.1, 3).select(view_of(32, 33, 34, cost=30)).tolist() == [1, 2]
    assert Threshold(0.1, 3).select(view_of(32, 33, 34, cost=[30, 30, 30])).tolist() == [1, 2]
    assert Threshold(0.5, 3).select(view_of(3, 4, 5, cost=3)).tolist() == [2]


def test_without_a_reserve_threshold_is_most_rounds_left() -> None:
    fleet = Fleet(9, Bernoulli(0.7), cost=[1, 2, 3] * 3, capacity=9)

    played = [simulate(fleet, scheduler, 60, seed=2) for scheduler in (Threshold(0), MostRoundsLeft())]
    assert np.array_equal(played[0].indices, played[1].indices)


def test_the_reserve_stays_in_every_battery_once_it_is_there() -> None:
    fleet = Fleet(10, Bernoulli(0.6), capacity=12, initial=4, cost=2)
    played = simulate(fleet, Threshold(reserve=2, target=10), 200, seed=1, record_energy=True)

    assert played.energy is not None and played.energy.min() == 4
    assert played.counts.mean() > 2


# Lyapunov


def objective(chosen: tuple[int, ...], view: View, v: float) -> float:
    """Return what a set is worth: v sqrt(n) and the queues of those in it, above theta."""
    costs, rooms = (np.broadcast_to(one, view.energy.shape) for one in (view.cost, view.capacity))
    queues = [view.energy[i] / costs[i] - min(1 + v, rooms[i] / costs[i]) for i in chosen]
    return v * math.sqrt(len(chosen)) + math.fsum(queues)


@given(
    levels=st.lists(st.integers(0, 12), min_size=1, max_size=7),
    cost=st.integers(1, 3) | st.lists(st.integers(1, 3), min_size=7, max_size=7),
    capacity=st.sampled_from([6, 12, math.inf]),
    v=st.floats(0, 30),
)
def test_no_set_of_those_who_can_pay_is_worth_more(levels: list[int], cost: Any, capacity: float, v: float) -> None:
    costs = np.broadcast_to(cost, (7,))[: len(levels)]
    view = view_of(*levels, cost=costs if isinstance(cost, list) else cost, capacity=capacity)
    able = view.able().tolist()
    best = max(
        objective(one, view, v) for one in chain.from_iterable(combinations(able, n) for n in range(len(able) + 1))
    )

    assert objective(tuple(Lyapunov(v).select(view).tolist()), view, v) == pytest.approx(best, abs=1e-6)


def test_the_nth_richest_must_have_so_many_rounds_left_after_paying() -> None:
    """4 (1 - sqrt(n) + sqrt(n-1)): 0, 1.66, 2.73, 2.93 rounds. The third has 2, and needs 2.73."""
    assert Lyapunov(4).select(view_of(5, 4, 3, 3)).tolist() == [0, 1]
    assert Lyapunov(4).select(view_of(5, 4, 4, 3)).tolist() == [0, 1, 2]
    assert Lyapunov(4).select(view_of(1, 1, 1, 0)).size == 1
    assert Lyapunov(4).select(view_of(10, 8, 6, 6, cost=2)).tolist() == [0, 1]  # in rounds, whatever the unit


def test_without_weight_on_steadiness_everyone_who_can_takes_part() -> None:
    assert Lyapunov(0).select(view_of(5, 0, 1, 2, cost=2)).tolist() == [0, 3]
    assert Lyapunov(1e6).select(view_of(2, 0, 1, 1, capacity=2)).tolist() == [0, 2, 3]  # far beyond the batteries


def test_the_target_is_met_when_batteries_are_about_half_full() -> None:
    """V = 10 sqrt(25): the n-th takes part from 10 - 50 (sqrt(n) - sqrt(n-1)) rounds on, which is 4.95 for n = 25."""
    fleets = [view_of(*[level] * 100, cost=10, capacity=100, target=25) for level in (100, 50, 30)]

    assert [Lyapunov().select(view).size for view in fleets] == [100, 25, 13]


def test_lyapunov_keeps_rounds_steadier_than_greed_by_its_own_measure() -> None:
    day = np.repeat([[6] * 20, [0] * 20], 6, axis=0)  # six rounds of sun, six of none
    fleet = Fleet(20, Replay(np.tile(day, (20, 1))), capacity=200, cost=10, initial=100)
    roots = [np.sqrt(simulate(fleet, name, 240).counts).mean() for name in ("lyapunov", "greedy")]

    assert roots[0] > roots[1]


# forecast


class Daylight:
    """Ten units in each of the first three rounds of a day of six, as foretold."""

    def units(self, seed: int, rounds: range, clients: range) -> Any:
        return np.repeat(np.where(np.asarray(rounds) % 6 < 3, 10, 0)[:, None], len(clients), axis=1)

    def expected(self, rounds: range, clients: range) -> Any:
        return self.units(0, rounds, clients)

    def mean_rates(self, n_clients: int) -> Any:
        return np.full(n_clients, 5.0)


def test_forecast_spreads_what_there_is_over_the_horizon() -> None:
    """Twelve rounds' worth in four batteries and nothing to come: 4 for 3 rounds, 3 for 4, 2 for 6, 1 for 12."""
    view = view_of(3, 3, 3, 3, rates=[0] * 4, target=4)

    assert [Forecast(horizon).steady(view) for horizon in (1, 3, 4, 5, 6, 7, 12, 99)] == [4, 4, 3, 2, 2, 1, 1, 1]


def test_forecast_counts_on_what_is_expected() -> None:
    """Half a round comes in for each of four: two clients a round for ever, and one more while the store lasts.

    4 + 2 s is there until round s, so three can be borne as long as 3 (s + 1) <= 4 + 2 s: s <= 1, two rounds.
    """
    view = view_of(1, 1, 1, 1, rates=[0.5] * 4, target=4)

    assert [Forecast(horizon).steady(view) for horizon in (1, 2, 3, 50)] == [4, 3, 2, 2]


def test_what_a_full_battery_cannot_take_is_not_counted_on() -> None:
    """By day two rounds' worth come in, by night nothing; batteries that hold two last two rounds, whatever came."""
    day, none = [20] * 4, [0] * 4
    harvest = np.array([day, day, day, none, none, none], float)
    small, large = (Forecasted(harvest).bears(capacity=capacity, horizon=6) for capacity in (20, 60))

    assert (small, large) == (2, 4)


class Forecasted:
    """A view of four full batteries whose coming rounds are known."""

    def __init__(self, harvest: Any) -> None:
        self._harvest = harvest

    def ahead(self, t: int, rounds: int) -> Any:
        return self._harvest[t : t + rounds]

    def bears(self, capacity: int, horizon: int) -> int:
        view = view_of(*[capacity] * 4, cost=10, capacity=capacity, target=4, expectation=self)
        return Forecast(horizon).steady(view)


@given(
    levels=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    capacity=st.integers(9, 30),
    horizon=st.integers(1, 8),
    data=st.data(),
)
def test_the_search_finds_the_largest_number_that_can_be_borne(
    levels: list[int], capacity: int, horizon: int, data: Any
) -> None:
    """Every number up to it can be borne, as a loop over all numbers and rounds says, and none above."""
    n = len(levels)
    harvest = np.array(data.draw(st.lists(st.lists(st.integers(-2, 8), min_size=n, max_size=n), min_size=horizon,
                                          max_size=horizon)), float)  # fmt: skip
    costs = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    view = view_of(*levels, cost=costs, capacity=capacity, target=n, expectation=Forecasted(harvest))
    borne = [bears(m, np.array(levels) / costs, harvest / costs, capacity / costs) for m in range(1, n + 1)]

    assert borne == sorted(borne, reverse=True)
    assert Forecast(horizon).steady(view) == max(1, sum(borne))


def bears(m: int, level: Any, harvest: Any, room: Any) -> bool:
    for row in harvest:
        there = np.minimum(level, 1).sum()
        if there < m - 1e-9:
            return False
        level = np.clip(level - np.minimum(level, 1) * m / there + row, 0, room)
    return True


def test_forecast_saves_for_a_night_that_it_knows_of() -> None:
    """60 units a day for two clients, 10 a turn: one client in each round of the day of six, and by night as well."""
    fleet = Fleet(2, Daylight(), capacity=30, cost=10)
    played = simulate(fleet, Forecast(horizon=6, target=2), 60)
    greedy = simulate(fleet, "greedy", 60)

    assert played.counts[6:].tolist() == [1] * 54
    assert greedy.counts[6:].min() == 0


def test_forecast_never_asks_for_less_than_one() -> None:
    fleet = Fleet(2, Bernoulli(0.1))
    played, greedy = (simulate(fleet, scheduler, 100, seed=3) for scheduler in ("forecast", "greedy"))

    assert 0 < played.totals.spent >= greedy.totals.spent - 2
    assert played.counts.max() == 1


def test_forecast_needs_to_know_what_comes() -> None:
    with pytest.raises(UserError, match=r"what will be harvested is not known: view\.rates is None"):
        Forecast().select(view_of(3, 3))


# parameters


@pytest.mark.parametrize("given", [-1, math.nan, math.inf, 2e9, "lots", None, True])
def test_a_reserve_or_a_weight_that_means_nothing_is_refused(given: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^reserve must be a number in \[0, 1e9\], got "):
        Threshold(reserve=given)
    with pytest.raises(InvalidValue, match=r"^v must be auto or a number in \[0, 1e9\], got "):
        Lyapunov(v=given)


@pytest.mark.parametrize(("length", "rounds"), [(3600, 24), (None, 24), (420, 206), (86_400, 1), (7 * 86_400, 1)])
def test_a_horizon_in_hours_has_as_many_rounds_as_last_that_long(length: float | None, rounds: int) -> None:
    asked: list[int] = []

    class Noted(Forecasted):
        def ahead(self, t: int, rounds: int) -> Any:
            asked.append(rounds)
            return super().ahead(t, rounds)

    forecast = Noted(np.ones((rounds, 1)))
    view = view_of(3, target=1, rates=np.ones(1), expectation=forecast, round_length=length)
    Forecast().select(view)

    assert set(asked) == {rounds}


@pytest.mark.parametrize("given", ["0 h", "2 years", "400 d"])
def test_a_horizon_that_is_no_time_is_refused(given: str) -> None:
    with pytest.raises(InvalidValue, match=r"^horizon must be "):
        Forecast(horizon=given)


@pytest.mark.parametrize("given", [0, -3, 1.5, "auto", 100_001])
def test_a_horizon_that_is_no_number_of_rounds_is_refused(given: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^horizon must be a whole number in \[1, 100000\], got "):
        Forecast(horizon=given)
