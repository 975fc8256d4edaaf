"""The round loop: exact against the plain loop, conserving, causal, the same whatever it runs on."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl import Bernoulli, Fleet, Greedy, Myopic, Participation, PolicyError, Replay, View, make_policy, play, simulate
from ehfl.energy.harvest import FloatArray, IntArray
from ehfl.randomness import TILE
from ehfl.scheduling import POLICIES
from plain_loop import PLAIN, Played, Setting, bernoulli_rows, play_plainly, sustainable

NAMES = sorted(POLICIES)
LARGE = TILE + 300


@dataclass(frozen=True)
class Case:
    """A fleet with one rate per client, and what is asked of it."""

    rates: list[float]
    capacity: float
    initial: list[int]
    cost: int
    width: int | None  # None is "auto"
    rounds: int
    seed: int

    def fleet(self) -> Fleet:
        return Fleet(
            len(self.rates), Bernoulli(self.rates), capacity=self.capacity, initial=self.initial, cost=self.cost
        )

    def simulated(self, name: str, *, record_energy: bool = False) -> Participation:
        policy = make_policy(name, self.width or "auto")
        return simulate(self.fleet(), policy, self.rounds, self.seed, record_energy=record_energy)

    def played_plainly(self, name: str) -> Played:
        width = self.width or sustainable(self.rates, self.cost)
        choose = PLAIN[name](Setting(len(self.rates), width, self.cost, self.seed))
        price = 0 if name == "always-on" else self.cost
        arrivals = bernoulli_rows(self.rates, self.rounds, self.seed)
        return play_plainly(choose, arrivals, self.initial, self.capacity, self.cost, price)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    clients = draw(st.integers(1, 12))
    capacity = draw(st.sampled_from([0, 1, 2, 3, 7, math.inf]))
    rate = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
    return Case(
        rates=draw(st.lists(rate, min_size=clients, max_size=clients)),
        capacity=capacity,
        initial=draw(st.lists(st.integers(0, int(min(capacity, 5))), min_size=clients, max_size=clients)),
        cost=draw(st.integers(1, 3)),
        width=draw(st.none() | st.integers(1, clients)),
        rounds=draw(st.integers(1, 30)),
        seed=draw(st.integers(0, 2**64 - 1)),
    )


def large_case(seed: int, *, capacity: float = 3, cost: int = 1, clients: int = LARGE) -> Case:
    chance = np.random.default_rng(seed)
    rates = chance.choice([0.0, 0.05, 0.5, 1.0], clients).tolist()
    initial = chance.integers(0, 3, clients).tolist()
    return Case(rates, capacity, initial, cost, clients // 2, rounds=12, seed=seed)


def assert_equal(fast: Participation, plain: Played) -> None:
    assert [fast.clients(t).tolist() for t in range(fast.rounds)] == plain.participants
    assert fast.final_energy.tolist() == plain.final_energy
    totals = fast.totals
    assert (totals.harvested, totals.spent, totals.wasted) == (plain.harvested, plain.spent, plain.wasted)
    assert (totals.initial, totals.stored) == (sum(plain.levels[0]), sum(plain.final_energy))
    assert totals.mains == plain.mains


def assert_obeys_the_model(played: Participation, case: Case, name: str) -> None:
    """Conservation, capacity, causality and eq. (2) row by row, from what was recorded."""
    totals = played.totals
    assert totals.initial + totals.harvested == totals.spent + totals.stored + totals.wasted
    assert min(totals.harvested, totals.spent, totals.stored, totals.wasted) >= 0
    energy = played.energy
    assert energy is not None
    assert energy.shape == (case.rounds + 1, len(case.rates))
    assert energy[0].tolist() == case.initial
    assert np.array_equal(energy[-1], played.final_energy)
    assert energy.min() >= 0
    assert energy.max() <= case.capacity
    units = Bernoulli(case.rates).units(case.seed, range(case.rounds), range(len(case.rates)))
    assert totals.harvested == int(units.sum())
    price = 0 if name == "always-on" else case.cost
    for t in range(case.rounds):
        level = energy[t].astype(np.int64)
        assert (level[played.clients(t)] >= price).all()
        level[played.clients(t)] -= price
        assert np.array_equal(energy[t + 1], np.minimum(level + units[t], case.capacity))


# exact


@pytest.mark.parametrize("name", NAMES)
@given(case=cases())
def test_a_small_fleet_is_played_as_the_plain_loop_plays_it(name: str, case: Case) -> None:
    assert_equal(case.simulated(name), case.played_plainly(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("seed", "capacity", "cost"), [(0, 3, 1), (1, math.inf, 2)])
def test_a_large_fleet_is_played_as_the_plain_loop_plays_it(name: str, seed: int, capacity: float, cost: int) -> None:
    case = large_case(seed, capacity=capacity, cost=cost)

    assert_equal(case.simulated(name), case.played_plainly(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("clients", [TILE, TILE + 1])
def test_fleets_on_both_sides_of_the_step_to_kernels_are_played_plainly_too(name: str, clients: int) -> None:
    case = large_case(3, clients=clients)

    assert_equal(case.simulated(name), case.played_plainly(name))


@pytest.mark.parametrize("name", NAMES)
@given(case=cases())
def test_energy_is_conserved_and_never_spent_before_it_is_there(name: str, case: Case) -> None:
    assert_obeys_the_model(case.simulated(name, record_energy=True), case, name)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 2**32), capacity=st.sampled_from([0, 1, 2, math.inf]), cost=st.integers(1, 3))
@settings(max_examples=4)
def test_a_large_fleet_conserves_energy_too(name: str, seed: int, capacity: float, cost: int) -> None:
    case = large_case(seed, capacity=math.inf if capacity == math.inf else capacity + 2, cost=cost)

    assert_obeys_the_model(case.simulated(name, record_energy=True), case, name)


def test_levels_are_recorded_only_when_asked_for() -> None:
    fleet = Fleet(clients=2, harvest=Replay([[1, 0], [3, 0]]), capacity=2)

    assert simulate(fleet, Greedy(), rounds=2).energy is None
    recorded = simulate(fleet, Greedy(), rounds=2, record_energy=True).energy
    assert recorded is not None
    assert recorded.tolist() == [[0, 0], [1, 0], [2, 0]]


# the same, whatever it runs on


@pytest.mark.parametrize("clients", [10, LARGE])
def test_every_policy_meets_the_same_harvest(clients: int) -> None:
    fleet = Fleet(clients=clients, harvest=Bernoulli(0.3), capacity=2)
    harvested = {simulate(fleet, make_policy(name), rounds=20, seed=8).totals.harvested for name in NAMES}

    assert harvested == {int(Bernoulli(0.3).units(8, range(20), range(clients)).sum())}


def test_another_seed_is_another_harvest() -> None:
    fleet = Fleet(clients=10, harvest=Bernoulli(0.5))
    first, second = (simulate(fleet, Greedy(), rounds=50, seed=seed) for seed in (0, 1))

    assert first.counts.tolist() != second.counts.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_changes_nothing(name: str) -> None:
    fleet = Fleet(clients=5 * TILE + 77, harvest=Bernoulli(0.4), capacity=3)
    one, two, all_ = (simulate(fleet, make_policy(name), 8, seed=5, threads=n) for n in (1, 2, None))

    for other in (two, all_):
        assert np.array_equal(one.indices, other.indices)
        assert np.array_equal(one.offsets, other.offsets)
        assert np.array_equal(one.final_energy, other.final_energy)
        assert one.totals == other.totals


@pytest.mark.parametrize("threads", [0, 10_000])
def test_a_number_of_threads_that_the_machine_has_not_is_refused(threads: int) -> None:
    with pytest.raises(ValueError, match=r"threads must be a whole number .*, got"):
        simulate(Fleet(clients=LARGE, harvest=Bernoulli(0.5)), Greedy(), 1, threads=threads)


@pytest.mark.parametrize("name", NAMES)
def test_a_longer_simulation_begins_with_the_shorter(name: str) -> None:
    fleet = Fleet(clients=10, harvest=Bernoulli(0.5))
    short, long = (simulate(fleet, make_policy(name), rounds, seed=3) for rounds in (37, 1000))

    assert np.array_equal(short.counts, long.counts[:37])
    assert np.array_equal(short.indices, long.indices[: short.indices.size])


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5])
def test_a_seed_out_of_range_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed must be a whole number in"):
        simulate(Fleet(clients=2, harvest=Bernoulli(0.5)), Greedy(), rounds=1, seed=seed)


# round by round


@pytest.mark.parametrize("clients", [10, LARGE])
def test_the_game_played_to_its_end_is_the_simulation(clients: int) -> None:
    fleet = Fleet(clients=clients, harvest=Bernoulli(0.5), capacity=4, initial=1)
    whole = simulate(fleet, Myopic(), rounds=15, seed=2, record_energy=True)

    assert whole.energy is not None
    for t, round_ in enumerate(play(fleet, Myopic(), rounds=15, seed=2)):
        assert round_.index == t
        assert np.array_equal(round_.clients, whole.clients(t))
        assert np.array_equal(round_.energy_after, whole.energy[t + 1])
    assert t == 14


def test_a_policy_sees_what_was_sent_after_the_round_before() -> None:
    seen: list[object] = []

    class Listens:
        def select(self, view: View) -> IntArray:
            seen.append(view.feedback)
            return np.arange(0)

    game = play(Fleet(clients=2, harvest=Bernoulli(0.5)), Listens(), rounds=4)
    next(game)
    game.send({"loss": 2.5})
    next(game)  # nothing sent, nothing seen
    game.send("late")
    with pytest.raises(StopIteration):
        game.send("too late")

    assert seen == [None, {"loss": 2.5}, None, "late"]


def test_feedback_steers_who_takes_part() -> None:
    class Wanted:
        """Takes the clients that the learner asked for, as far as they can pay."""

        def select(self, view: View) -> IntArray:
            wanted = view.feedback if isinstance(view.feedback, list) else []
            return view.able(np.array(wanted, dtype=np.int64))

    game = play(Fleet(clients=3, harvest=Replay(np.zeros((4, 3), int)), initial=[1, 0, 2]), Wanted(), rounds=4)
    rounds = [next(game), *(game.send(wanted) for wanted in ([0, 1], [2], [0, 2]))]

    assert [r.clients.tolist() for r in rounds] == [[], [0], [2], [2]]


def test_two_games_side_by_side_do_not_disturb_each_other() -> None:
    fleet = Fleet(clients=LARGE, harvest=Bernoulli(0.5))
    alone = [r.clients.tolist() for r in play(fleet, Myopic(), rounds=4, seed=1)]
    pairs = zip(play(fleet, Myopic(), 4, seed=1), play(fleet, Greedy(), 4, seed=2), strict=True)

    assert [first.clients.tolist() for first, _ in pairs] == alone


def test_what_a_policy_sees_cannot_be_written_to() -> None:
    class Cheat:
        def select(self, view: View) -> IntArray:
            view.energy[:] = 9
            return np.arange(0)

    with pytest.raises(ValueError, match="read-only"):
        simulate(Fleet(clients=2, harvest=Bernoulli(0.5)), Cheat(), rounds=1)


# faults


@dataclass
class From:
    """Picks nobody until round 3, and then what it is told."""

    choose: Callable[[View], Any]

    def select(self, view: View) -> IntArray:
        chosen: IntArray = self.choose(view) if view.round >= 3 else np.arange(0)
        return chosen


@pytest.mark.parametrize("clients", [10, LARGE])
@pytest.mark.parametrize("capacity", [2, math.inf])
def test_spending_what_is_not_there_is_an_error_that_names_round_client_and_level(
    clients: int, capacity: float
) -> None:
    rates = [1.0] * clients
    rates[6] = 0.0
    fleet = Fleet(clients=clients, harvest=Bernoulli(rates), capacity=capacity)

    with pytest.raises(
        PolicyError,
        match="spends energy that is not there: round 3, client 6 was picked with 0 units and a round costs 1",
    ):
        simulate(fleet, From(lambda view: np.arange(view.energy.size)), rounds=5)


@pytest.mark.parametrize("clients", [3, LARGE])
def test_the_level_named_is_the_one_before_the_rounds_harvest_filled_the_battery(clients: int) -> None:
    class Three:
        def units(self, seed: int, rounds: range, clients: range) -> IntArray:
            return np.full((len(rounds), len(clients)), 3, np.uint8)

        def mean_rates(self, n_clients: int) -> FloatArray:
            return np.full(n_clients, 3.0)

    class Second:
        def select(self, view: View) -> IntArray:
            return np.array([1])

    with pytest.raises(PolicyError, match="round 0, client 1 was picked with 0 units and a round costs 1"):
        simulate(Fleet(clients=clients, harvest=Three(), capacity=1), Second(), rounds=1)


@pytest.mark.parametrize("clients", [10, LARGE])
@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (lambda view: [1, 4, 1], "picks a client twice: round 3, client 1"),
        (lambda view: np.append(np.arange(view.energy.size), 7), "picks a client twice: round 3, client 7"),
        (lambda view: [view.energy.size], r"picks a client that does not exist: round 3, client \d+ was picked"),
        (lambda view: [-1, 0], "picks a client that does not exist: round 3, client -1 was picked"),
        (lambda view: view.energy > 0, "must return a list of client numbers: round 3, got bool"),
        (lambda view: [[0, 1]], r"must return a list of client numbers: round 3, got int64 of shape \(1, 2\)"),
    ],
)
def test_a_faulty_choice_is_an_error_that_names_round_and_client(
    clients: int, choose: Callable[[View], Any], message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        simulate(Fleet(clients=clients, harvest=Bernoulli(1.0)), From(choose), rounds=5)


@pytest.mark.parametrize("clients", [10, LARGE])
def test_a_choice_in_any_order_is_kept_sorted(clients: int) -> None:
    backwards = From(lambda view: np.arange(view.energy.size)[::-1].copy())
    played = simulate(Fleet(clients=clients, harvest=Bernoulli(1.0)), backwards, rounds=4)

    assert played.clients(3).tolist() == list(range(clients))


def test_a_policy_that_is_none_is_refused() -> None:
    fleet = Fleet(clients=3, harvest=Bernoulli(0.5))

    for wrong in ("myopic", Greedy):
        with pytest.raises(ValueError, match="policy must be a policy such as"):
            simulate(fleet, wrong, rounds=2)  # type: ignore[arg-type]


def test_seeds_of_numpy_types_are_the_same_seeds() -> None:
    fleet = Fleet(clients=30, harvest=Bernoulli(0.5))
    seeds: list[Any] = [np.int32(77), 77]

    first, second = ([r.clients.tolist() for r in play(fleet, Greedy(), 9, seed=seed)] for seed in seeds)

    assert first == second
