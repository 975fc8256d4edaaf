"""Each policy worked by hand, a contract over all that are registered, and the registry itself."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from ehfl import (
    AlwaysOn,
    Bernoulli,
    Fleet,
    Greedy,
    Myopic,
    Policy,
    Replay,
    RoundRobin,
    UniformRandom,
    View,
    check_policy,
    make_policy,
    simulate,
)
from ehfl.randomness import Purpose, words
from ehfl.scheduling import POLICIES


def view_of(*energy: int, round_: int = 0, cost: int = 1, seed: int = 0, sustainable: int = 1) -> View:
    return View(round_, np.array(energy, dtype=np.int32), cost, seed, sustainable)


def rounds_of(fleet: Fleet, policy: Policy, rounds: int, seed: int = 0) -> list[list[int]]:
    played = simulate(fleet, policy, rounds, seed)
    return [played.clients(t).tolist() for t in range(rounds)]


# worked by hand


def test_greedy_spends_each_unit_in_the_round_after_its_harvest() -> None:
    fleet = Fleet(clients=3, harvest=Replay([[1, 0, 1], [0, 1, 0], [0, 0, 0]]))
    played = simulate(fleet, Greedy(), rounds=3, seed=0)

    assert [played.clients(t).tolist() for t in range(3)] == [[], [0, 2], [1]]
    assert played.final_energy.tolist() == [0, 0, 0]


def test_greedy_takes_everyone_who_holds_the_cost() -> None:
    assert Greedy().select(view_of(0, 1, 2, 3, cost=2)).tolist() == [2, 3]


def test_myopic_takes_the_longest_queues() -> None:
    assert Myopic(target=2).select(view_of(1, 4, 2, 3)).tolist() == [1, 3]


def test_myopic_leaves_out_those_of_the_longest_that_cannot_pay() -> None:
    assert Myopic(target=3).select(view_of(0, 4, 0, 1)).tolist() == [1, 3]
    assert Myopic(target=3).select(view_of(1, 4, 1, 2, cost=2)).tolist() == [1, 3]


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


@pytest.mark.parametrize("policy", [Myopic(), RoundRobin(), UniformRandom(), AlwaysOn()])
def test_auto_is_what_the_fleet_can_sustain(policy: Policy) -> None:
    chosen = policy.select(view_of(1, 1, 1, 1, 1, sustainable=3))

    assert chosen.size == 3


# chance


@pytest.mark.parametrize("policy", [Myopic(target=2), UniformRandom(target=2), AlwaysOn(target=2)])
def test_every_pair_of_equal_queues_is_equally_likely(policy: Policy) -> None:
    """Six pairs of four clients in n rounds: chi-square with 5 degrees of freedom, below its 0.999 quantile 20.5."""
    n = 6000
    pairs: dict[tuple[int, ...], int] = {}
    for t in range(n):
        pair = tuple(np.sort(policy.select(view_of(1, 1, 1, 1, round_=t, seed=11))).tolist())
        pairs[pair] = pairs.get(pair, 0) + 1

    assert len(pairs) == 6
    assert sum((seen - n / 6) ** 2 / (n / 6) for seen in pairs.values()) < 20.5


def test_ties_below_a_clear_winner_are_broken_evenly() -> None:
    """Client 0 is always in; each of the other three is second in a third of n rounds, within 4.5 sigma."""
    n = 3000
    seconds = [Myopic(target=2).select(view_of(5, 1, 1, 1, round_=t, seed=2)).tolist()[1] for t in range(n)]

    sigma = math.sqrt(n * (1 / 3) * (2 / 3))
    assert all(abs(seconds.count(i) - n / 3) < 4.5 * sigma for i in (1, 2, 3))


def test_rounds_and_seeds_break_the_same_ties_anew() -> None:
    drawn = {
        tuple(Myopic(target=10).select(view_of(*[1] * 20, round_=t, seed=seed)).tolist())
        for t in range(5)
        for seed in range(5)
    }

    assert len(drawn) == 25  # two of 25 draws of 10 from 20 agree once in 600 such tests


# every registered policy


@pytest.fixture(params=sorted(POLICIES))
def policy(request: pytest.FixtureRequest) -> Policy:
    return make_policy(request.param)


def test_a_registered_policy_keeps_the_rules(policy: Policy) -> None:
    check_policy(policy)
    check_policy(policy, clients=3, rounds=30, seed=2)


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_registered_policy_of_given_width_keeps_the_rules(name: str) -> None:
    check_policy(make_policy(name, 5), clients=10)


def test_a_registered_policy_does_the_same_again(policy: Policy) -> None:
    fleet = Fleet(clients=12, harvest=Bernoulli(0.4), capacity=3)

    assert rounds_of(fleet, policy, 40, seed=6) == rounds_of(fleet, policy, 40, seed=6)


def test_a_registered_policys_rounds_are_sorted_and_without_repeats(policy: Policy) -> None:
    for chosen in rounds_of(Fleet(clients=12, harvest=Bernoulli(0.4)), policy, 40):
        assert chosen == sorted(set(chosen))


def test_a_registered_policy_is_a_value(policy: Policy) -> None:
    assert policy == eval(repr(policy))
    assert hash(policy) == hash(eval(repr(policy)))


def test_a_registered_policy_plays_a_fleet_of_one(policy: Policy) -> None:
    fleet = Fleet(clients=1, harvest=Replay([[1], [1], [0], [0]]))

    mains = isinstance(policy, AlwaysOn)
    assert rounds_of(fleet, policy, 4) == ([[0]] * 4 if mains else [[], [0], [0], []])


def test_a_registered_policy_finds_nobody_where_nothing_is_harvested(policy: Policy) -> None:
    played = simulate(Fleet(clients=4, harvest=Bernoulli(0.0)), policy, rounds=5)

    assert played.counts.tolist() == ([1] * 5 if isinstance(policy, AlwaysOn) else [0] * 5)


# widths


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (Myopic(target=4), "target"),
        (UniformRandom(target=4), "target"),
        (AlwaysOn(target=4), "target"),
        (RoundRobin(per_round=4), "per_round"),
    ],
)
def test_more_clients_a_round_than_there_are_is_refused(policy: Policy, name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} must be at most the number of clients \(3\), got 4"):
        simulate(Fleet(clients=3, harvest=Bernoulli(0.5)), policy, rounds=1)


@pytest.mark.parametrize("width", [0, -1, 2.5, "all"])
def test_a_width_that_no_fleet_could_have_is_refused_at_once(width: int) -> None:
    for make in (Myopic, UniformRandom, AlwaysOn):
        with pytest.raises(ValueError, match="target must be a whole number >= 1, got"):
            make(target=width)
    with pytest.raises(ValueError, match="per_round must be a whole number >= 1, got"):
        RoundRobin(per_round=width)


# the registry


def test_the_registry_has_the_papers_schedulers_and_the_baselines() -> None:
    assert sorted(POLICIES) == ["always-on", "greedy", "myopic", "round-robin", "uniform-random"]


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("myopic", Myopic(target=7)),
        ("Myopic", Myopic(target=7)),
        ("myopic:3", Myopic(target=3)),
        ("round-robin", RoundRobin(per_round=7)),
        ("round_robin:1", RoundRobin(per_round=1)),
        ("uniform-random", UniformRandom(target=7)),
        ("always-on:2", AlwaysOn(target=2)),
        ("greedy", Greedy()),
    ],
)
def test_a_policy_is_made_from_its_name_and_width(text: str, policy: Policy) -> None:
    assert make_policy(text, 7) == policy


def test_a_policy_made_without_a_width_sustains_itself() -> None:
    assert make_policy("round-robin") == RoundRobin(per_round="auto")


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"scheduler must be one of myopic, .*, got myopc \(did you mean myopic\?\)"):
        make_policy("myopc")


def test_a_name_like_no_other_is_answered_with_the_list() -> None:
    with pytest.raises(ValueError, match=r"scheduler must be one of .*always-on.*, got zzz$"):
        make_policy("zzz")


class Nobody:
    def select(self, view: View) -> NDArray[np.int64]:
        return np.arange(0)


def test_a_policy_of_ones_own_is_found_by_module_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ehfl.scheduling.greedy.Nobody", Nobody, raising=False)

    assert isinstance(make_policy("ehfl.scheduling.greedy:Nobody"), Nobody)
    assert make_policy("ehfl.scheduling:Greedy") == Greedy()


@pytest.mark.parametrize("text", ["no.such.module:Thing", "ehfl:Thing", "ehfl.scheduling:View", "myopic:-1", ":Thing"])
def test_a_policy_that_cannot_be_imported_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=rf"scheduler must be importable as package.module:Factory, got {text}"):
        make_policy(text)


def test_a_width_of_zero_in_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="target must be a whole number >= 1, got 0"):
        make_policy("myopic:0")


def test_a_width_for_a_policy_that_takes_none_is_refused() -> None:
    with pytest.raises(ValueError, match="greedy without a width: it takes none, got greedy:5"):
        make_policy("greedy:5")
