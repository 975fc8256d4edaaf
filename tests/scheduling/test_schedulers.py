"""Each scheduler worked by hand, and a contract over all that are registered."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from ehfl.energy import Bernoulli, Fleet, Replay
from ehfl.randomness import Purpose, generator, words
from ehfl.scheduling import (
    SCHEDULERS,
    AdaptiveSteps,
    AlwaysOn,
    EnergyCycles,
    F3ast,
    Forecast,
    Greedy,
    Lyapunov,
    MostRoundsLeft,
    Myopic,
    OldestFirst,
    PowerOfChoice,
    RoundRobin,
    Scheduler,
    Threshold,
    UniformRandom,
    View,
    brings_steps,
    brings_weights,
    check_scheduler,
    simulate,
    wants_losses,
)
from ehfl.scheduling.contract import is_mains_powered
from ehfl.scheduling.past import Past


def view_of(*energy: int, round_: int = 0, **facts: Any) -> View:
    return View(round_, np.array(energy, dtype=np.int32), **facts)


def past_of(clients: int, *rounds: list[int]) -> Past:
    """Return the past in which these clients took part in rounds 0, 1, ..."""
    past = Past(clients)
    for t, participants in enumerate(rounds):
        past.note(t, np.array(participants, dtype=np.int32))
    return past


def rounds_of(fleet: Fleet, scheduler: Scheduler, rounds: int, seed: int = 0) -> list[list[int]]:
    played = simulate(fleet, scheduler, rounds, seed)
    return [played.clients(t).tolist() for t in range(rounds)]


# worked by hand


def test_greedy_spends_each_unit_in_the_round_after_its_harvest() -> None:
    fleet = Fleet(clients=3, harvest=Replay([[1, 0, 1], [0, 1, 0], [0, 0, 0]]))
    played = simulate(fleet, Greedy(), rounds=3, seed=0)

    assert [played.clients(t).tolist() for t in range(3)] == [[], [0, 2], [1]]
    assert played.final_energy.tolist() == [0, 0, 0]


def test_greedy_takes_everyone_who_holds_the_cost() -> None:
    assert Greedy().select(view_of(0, 1, 2, 3, cost=2)).tolist() == [2, 3]
    assert Greedy().select(view_of(0, 1, 2, 3, cost=np.array([1, 1, 3, 3]))).tolist() == [1, 3]


def test_myopic_takes_the_longest_queues() -> None:
    assert Myopic(target=2).select(view_of(1, 4, 2, 3)).tolist() == [1, 3]


def test_myopic_leaves_out_those_of_the_longest_that_cannot_pay() -> None:
    assert Myopic(target=3).select(view_of(0, 4, 0, 1)).tolist() == [1, 3]
    assert Myopic(target=3).select(view_of(1, 4, 1, 2, cost=2)).tolist() == [1, 3]


def test_myopic_ranks_by_energy_alone_where_costs_differ() -> None:
    """Clients 0 and 1 hold most; client 0 cannot pay its 9, and client 3, who could pay its 1, is not asked."""
    assert Myopic(target=2).select(view_of(8, 4, 2, 3, cost=np.array([9, 4, 2, 1]))).tolist() == [1]


def test_myopic_breaks_ties_by_the_smaller_word_of_the_schedule_stream() -> None:
    row = words(5, Purpose.SCHEDULE, range(7, 8), range(4))[0]
    winner = int(np.argmin(row[1:])) + 1

    assert Myopic(target=2).select(view_of(9, 1, 1, 1, round_=7, seed=5)).tolist() == [0, winner]


def test_myopic_balances_queues_over_rounds() -> None:
    """Queues 3, 1, 0 with nothing coming in: client 0 alone until it is level with client 1, then both, then none."""
    fleet = Fleet(clients=3, harvest=Replay(np.zeros((5, 3), int)), initial=[3, 1, 0])

    one_by_one = rounds_of(fleet, Myopic(target=1), 5)
    assert one_by_one[:2] == [[0], [0]]
    assert sorted(one_by_one[2] + one_by_one[3]) == [0, 1]
    assert one_by_one[4] == []
    assert rounds_of(fleet, Myopic(target=2), 5) == [[0, 1], [0], [0], [], []]


def test_round_robin_moves_on_whether_clients_can_pay_or_not() -> None:
    fleet = Fleet(clients=5, harvest=Replay(np.zeros((4, 5), int)), initial=[5, 5, 0, 5, 5])

    assert rounds_of(fleet, RoundRobin(per_round=2), 4) == [[0, 1], [3], [0, 4], [1]]


def test_round_robin_one_by_one_gives_each_client_a_turn_in_order() -> None:
    fleet = Fleet(clients=3, harvest=Replay(np.zeros((7, 3), int)), initial=2)

    assert rounds_of(fleet, RoundRobin(per_round=1), 7) == [[0], [1], [2], [0], [1], [2], []]


def test_uniform_random_takes_the_smallest_words_and_of_these_who_can_pay() -> None:
    row = words(3, Purpose.SCHEDULE, range(1), range(6))[0]
    sample = sorted(np.argsort(row)[:4].tolist())
    energy = [0, 1, 0, 1, 1, 0]

    chosen = UniformRandom(target=4).select(view_of(*energy, seed=3))
    assert chosen.tolist() == [i for i in sample if energy[i] >= 1]


def test_always_on_takes_its_whole_sample_and_pays_nothing() -> None:
    fleet = Fleet(clients=4, harvest=Replay([[1, 0, 2, 0]] * 3), capacity=4)
    played = simulate(fleet, AlwaysOn(target=3), rounds=3, seed=1)

    assert played.counts.tolist() == [3, 3, 3]
    assert played.final_energy.tolist() == [3, 0, 4, 0]
    totals = played.totals
    assert (totals.spent, totals.mains, totals.harvested, totals.stored, totals.wasted) == (0, 9, 9, 7, 2)


def test_always_on_has_the_participants_of_uniform_random_and_those_that_lacked_energy() -> None:
    fleet = Fleet(clients=20, harvest=Bernoulli(0.3))
    ceiling = rounds_of(fleet, AlwaysOn(target=8), 50, seed=4)
    blind = rounds_of(fleet, UniformRandom(target=8), 50, seed=4)

    assert all(set(some) <= set(sample) for some, sample in zip(blind, ceiling, strict=True))
    assert {len(sample) for sample in ceiling} == {8}
    assert any(len(some) < 8 for some in blind)


def test_oldest_first_takes_those_whose_last_turn_lies_farthest_back() -> None:
    """Last turns are 2, 0, -1 (never), 1: the order is client 2, 1, 3, 0."""
    past = past_of(4, [0, 1], [3], [0])
    taken = [OldestFirst(target=n).select(view_of(1, 1, 1, 1, round_=3, past=past)).tolist() for n in (1, 2, 3, 4)]

    assert taken == [[2], [1, 2], [1, 2, 3], [0, 1, 2, 3]]


def test_oldest_first_asks_only_those_who_can_pay() -> None:
    """Client 2 has waited longest and lacks a unit; the next ones take its place."""
    past = past_of(4, [0, 1], [3], [0])

    assert OldestFirst(target=2).select(view_of(2, 2, 1, 2, round_=3, cost=2, past=past)).tolist() == [1, 3]
    assert OldestFirst(target=2).select(view_of(0, 0, 0, 5, round_=3, past=past)).tolist() == [3]


def test_oldest_first_goes_round_by_round_through_those_who_are_able() -> None:
    """In round 0 only clients 1 and 2 can pay and one of them goes. Then come the two that never had a turn, in an
    order that chance decides, and in round 3 the one that began.
    """
    fleet = Fleet(clients=3, harvest=Replay([[2, 1, 1], [0, 1, 1], [0, 1, 1], [0, 1, 1]]), initial=[0, 1, 1])
    rounds = rounds_of(fleet, OldestFirst(target=1), 4)

    first, second = rounds[0][0], 3 - rounds[0][0]
    assert rounds[0] in ([1], [2])
    assert sorted(rounds[1] + rounds[2]) == [0, second]
    assert rounds[3] == [first]


def test_power_of_choice_takes_the_largest_losses_of_its_candidates() -> None:
    losses = np.array([1.0, 5.0, 3.0, 4.0])
    taken = [
        PowerOfChoice(target=n, candidates=4).select(view_of(1, 1, 1, 1, losses=losses)).tolist() for n in (1, 2, 3)
    ]

    assert taken == [[1], [1, 3], [1, 2, 3]]


def test_power_of_choice_takes_those_who_never_reported_first() -> None:
    losses = np.array([1.0, 9.0, math.nan, 4.0])

    assert PowerOfChoice(target=2, candidates=4).select(view_of(1, 1, 1, 1, losses=losses)).tolist() == [1, 2]


def test_power_of_choice_has_only_those_who_can_pay_for_candidates() -> None:
    losses = np.array([1.0, 9.0, 3.0, 4.0])

    assert PowerOfChoice(target=2, candidates=4).select(view_of(1, 0, 1, 1, losses=losses)).tolist() == [2, 3]
    assert PowerOfChoice(target=2, candidates=4).select(view_of(0, 0, 0, 0, losses=losses)).tolist() == []


def test_power_of_choice_draws_its_candidates_from_the_schedule_stream() -> None:
    """Six can pay; the first three of them in a permutation of the round are the candidates, whatever they lost."""
    energy, losses = [1, 0, 1, 1, 1, 1, 1], np.arange(7.0)
    able = [0, 2, 3, 4, 5, 6]
    for t in range(20):
        candidates = generator(8, Purpose.SCHEDULE, round_=t).permutation(able)[:3].tolist()
        chosen = PowerOfChoice(target=2, candidates=3).select(view_of(*energy, round_=t, seed=8, losses=losses))

        assert chosen.tolist() == sorted(candidates)[1:]


@pytest.mark.parametrize(
    ("scheduler", "candidates"),
    [
        (PowerOfChoice(target=2), 4),  # twice the target
        (PowerOfChoice(), 6),  # twice the fleet's target
        (PowerOfChoice(target=5), 8),  # at most everyone
        (PowerOfChoice(target=2, candidates=8), 8),
    ],
)
def test_power_of_choice_has_so_many_candidates(scheduler: PowerOfChoice, candidates: int) -> None:
    """Client 0 has the largest loss, so it is taken in each round in which it is a candidate: that share of rounds."""
    n, losses = 2000, np.array([9.0, 1, 1, 1, 1, 1, 1, 1])
    seen = sum(0 in scheduler.select(view_of(*[1] * 8, round_=t, target=3, losses=losses)).tolist() for t in range(n))

    share = candidates / 8
    assert abs(seen - n * share) <= 4.5 * math.sqrt(n * share * (1 - share))


def test_power_of_choice_refuses_fewer_candidates_than_are_wanted() -> None:
    with pytest.raises(ValueError, match=r"candidates must be at least the target \(3\), got 2"):
        PowerOfChoice(candidates=2).select(view_of(1, 1, 1, 1, target=3))


@pytest.mark.parametrize(
    "scheduler",
    [
        Myopic(), RoundRobin(), UniformRandom(), AlwaysOn(), OldestFirst(), PowerOfChoice(), F3ast(), MostRoundsLeft(),
        Threshold(), Forecast(1),
    ],
)  # fmt: skip
def test_auto_is_the_target(scheduler: Scheduler) -> None:
    chosen = scheduler.select(view_of(2, 2, 2, 2, 2, target=3, rates=np.ones(5)))

    assert chosen.size == 3


# chance


@pytest.mark.parametrize(
    "scheduler",
    [
        Myopic(target=2),
        UniformRandom(target=2),
        AlwaysOn(target=2),
        OldestFirst(target=2),
        PowerOfChoice(target=2, candidates=2),
        PowerOfChoice(target=2, candidates=3),
        PowerOfChoice(target=2, candidates=4),
        F3ast(target=2),
        MostRoundsLeft(target=2),
        Threshold(reserve=0, target=2),
        Forecast(horizon=1, target=2),
    ],
    ids=repr,
)
def test_every_pair_of_equal_clients_is_equally_likely(scheduler: Scheduler) -> None:
    """Six pairs of four clients in n rounds: chi-square with 5 degrees of freedom, below its 0.999 quantile 20.5."""
    n = 6000
    views = (view_of(1, 1, 1, 1, round_=t, seed=11, rates=np.ones(4)) for t in range(n))
    pairs = Counter(tuple(np.sort(scheduler.select(view)).tolist()) for view in views)

    assert len(pairs) == 6
    assert sum((seen - n / 6) ** 2 / (n / 6) for seen in pairs.values()) < 20.5


def test_ties_below_a_clear_winner_are_broken_evenly() -> None:
    """Client 0 is always in; each of the other three is second in a third of n rounds, within 4.5 sigma."""
    n = 3000
    seconds = [Myopic(target=2).select(view_of(5, 1, 1, 1, round_=t, seed=2)).tolist()[1] for t in range(n)]

    sigma = math.sqrt(n * (1 / 3) * (2 / 3))
    assert all(abs(seconds.count(i) - n / 3) < 4.5 * sigma for i in (1, 2, 3))


@pytest.mark.parametrize("scheduler", [Myopic(target=10), OldestFirst(target=10), PowerOfChoice(target=10)])
def test_rounds_and_seeds_break_the_same_ties_anew(scheduler: Scheduler) -> None:
    drawn = {
        tuple(scheduler.select(view_of(*[1] * 20, round_=t, seed=seed)).tolist()) for t in range(5) for seed in range(5)
    }

    assert len(drawn) == 25  # two of 25 draws of 10 from 20 agree once in 600 such tests


# every registered scheduler


def test_the_registry_has_the_papers_schedulers_and_the_others() -> None:
    assert list(SCHEDULERS.members) == [
        "myopic", "greedy", "round-robin", "uniform-random", "always-on", "oldest-first", "power-of-choice",
        "f3ast", "energy-cycles", "most-rounds-left", "threshold", "lyapunov", "forecast",
        "adaptive-steps",
    ]  # fmt: skip


@pytest.fixture(params=SCHEDULERS.members)
def scheduler(request: pytest.FixtureRequest) -> Scheduler:
    return SCHEDULERS.make(request.param)


def test_a_registered_scheduler_keeps_the_rules(scheduler: Scheduler) -> None:
    check_scheduler(scheduler)
    check_scheduler(scheduler, clients=3, rounds=30, seed=2)


@pytest.mark.parametrize("name", [name for name in SCHEDULERS.members if name not in ("greedy", "energy-cycles")])
def test_a_registered_scheduler_of_given_width_keeps_the_rules(name: str) -> None:
    check_scheduler(SCHEDULERS.make(f"{name}:5"), clients=10)


def test_a_registered_scheduler_does_the_same_again(scheduler: Scheduler) -> None:
    fleet = Fleet(clients=12, harvest=Bernoulli(0.4), capacity=3)

    assert rounds_of(fleet, scheduler, 40, seed=6) == rounds_of(fleet, scheduler, 40, seed=6)


def test_a_registered_schedulers_rounds_are_sorted_and_without_repeats(scheduler: Scheduler) -> None:
    for chosen in rounds_of(Fleet(clients=12, harvest=Bernoulli(0.4)), scheduler, 40):
        assert chosen == sorted(set(chosen))


def test_a_registered_scheduler_is_a_value(scheduler: Scheduler) -> None:
    assert scheduler == eval(repr(scheduler))
    assert hash(scheduler) == hash(eval(repr(scheduler)))


def test_a_registered_scheduler_plays_a_fleet_of_one(scheduler: Scheduler) -> None:
    fleet = Fleet(clients=1, harvest=Replay([[1], [1], [0], [0]]))

    found = rounds_of(fleet, scheduler, 4)
    if isinstance(scheduler, Threshold):  # which keeps a unit
        assert found == [[], [], [0], []]
    elif isinstance(scheduler, EnergyCycles):  # which may leave a unit for the last round of its second cycle
        assert found in ([[], [0], [0], []], [[], [0], [], [0]])
    else:
        assert found == ([[0]] * 4 if is_mains_powered(scheduler) else [[], [0], [0], []])


def test_a_registered_scheduler_finds_nobody_where_nothing_is_harvested(scheduler: Scheduler) -> None:
    played = simulate(Fleet(clients=4, harvest=Bernoulli(0.0)), scheduler, rounds=5)

    assert played.counts.tolist() == ([1] * 5 if is_mains_powered(scheduler) else [0] * 5)


def test_what_schedulers_declare_of_themselves() -> None:
    made = {name: SCHEDULERS.make(name) for name in SCHEDULERS.members}

    assert [name for name, one in made.items() if is_mains_powered(one)] == ["always-on"]
    assert [name for name, one in made.items() if wants_losses(one)] == ["power-of-choice"]
    assert [name for name, one in made.items() if brings_weights(one)] == ["f3ast", "energy-cycles"]
    assert [name for name, one in made.items() if brings_steps(one)] == ["adaptive-steps"]


# widths


@pytest.mark.parametrize(
    ("scheduler", "name"),
    [
        (Myopic(target=4), "target"),
        (UniformRandom(target=4), "target"),
        (AlwaysOn(target=4), "target"),
        (OldestFirst(target=4), "target"),
        (PowerOfChoice(target=4), "target"),
        (PowerOfChoice(candidates=4), "candidates"),
        (F3ast(target=4), "target"),
        (MostRoundsLeft(target=4), "target"),
        (AdaptiveSteps(target=4), "target"),
        (Threshold(target=4), "target"),
        (Forecast(target=4), "target"),
        (RoundRobin(per_round=4), "per_round"),
    ],
    ids=repr,
)
def test_more_clients_a_round_than_there_are_is_refused(scheduler: Scheduler, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be in \[1, 3\] \(the clients\), got 4"):
        simulate(Fleet(clients=3, harvest=Bernoulli(0.5)), scheduler, rounds=1)


@pytest.mark.parametrize("width", [0, -1, 2.5, "all"])
def test_a_width_that_no_fleet_could_have_is_refused_at_once(width: Any) -> None:
    for make in (
        Myopic, UniformRandom, AlwaysOn, OldestFirst, PowerOfChoice, F3ast, MostRoundsLeft, Threshold, Forecast
    ):  # fmt: skip
        with pytest.raises(ValueError, match="target must be a whole number >= 1, got"):
            make(target=width)
    with pytest.raises(ValueError, match="per_round must be a whole number >= 1, got"):
        RoundRobin(per_round=width)
    with pytest.raises(ValueError, match="candidates must be a whole number >= 1, got"):
        PowerOfChoice(candidates=width)


def test_fewer_candidates_than_are_wanted_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="candidates must be a whole number >= 3, got 2"):
        PowerOfChoice(target=3, candidates=2)


# by name


@pytest.mark.parametrize(
    ("text", "scheduler"),
    [
        ("myopic", Myopic(target="auto")),
        ("Myopic", Myopic(target="auto")),
        ("myopic:3", Myopic(target=3)),
        ("round-robin", RoundRobin(per_round="auto")),
        ("round_robin:1", RoundRobin(per_round=1)),
        ("uniform-random", UniformRandom(target="auto")),
        ("always-on:2", AlwaysOn(target=2)),
        ("greedy", Greedy()),
        ("oldest-first:4", OldestFirst(target=4)),
        ("power-of-choice:target=2,candidates=6", PowerOfChoice(target=2, candidates=6)),
        ("f3ast:target=2,rate=0.1", F3ast(target=2, rate=0.1)),
        ("energy-cycles", EnergyCycles()),
        ("most-rounds-left:4", MostRoundsLeft(target=4)),
        ("threshold:reserve=0.5,target=2", Threshold(reserve=0.5, target=2)),
        ("adaptive-steps:target=2,reserve=1", AdaptiveSteps(target=2, reserve=1)),
        ("lyapunov", Lyapunov(v="auto")),
        ("lyapunov:12.5", Lyapunov(v=12.5)),
        ("forecast:horizon=48", Forecast(horizon=48, target="auto")),
    ],
)
def test_a_scheduler_is_made_from_its_name_and_parameters(text: str, scheduler: Scheduler) -> None:
    assert SCHEDULERS.make(text) == scheduler


@pytest.mark.parametrize("text", ["myopic:0", "always-on:-1"])
def test_a_width_that_no_fleet_could_have_is_refused_by_the_name_too(text: str) -> None:
    with pytest.raises(ValueError, match=r"scheduler.target must be a whole number >= 1, got"):
        SCHEDULERS.make(text)
