"""Markov: the law of the chain, to the word; parts equal the whole; limits."""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ehfl.energy import Bernoulli, Markov
from ehfl.energy.harvests.markov import _Chain
from ehfl.randomness import TILE, Purpose, words

LARGE = 2 * TILE + 77  # two whole tiles and a part of one: compiled words
PAIRS = [(0.9, 0.8), (0.1, 0.3), (0.0, 0.5), (0.02, 0.01), (0.3, 0.7), (0.999, 0.998)]


class PlainChain:
    """The definition, one client and one round at a time, in exact fractions."""

    def __init__(self, stay_on: float, stay_off: float, seed: int, client: int) -> None:
        on, off = Fraction(stay_on), Fraction(stay_off)
        self.share, self.memory = (1 - off) / (2 - on - off), float(on + off - 1)
        self.kernel = {(1, 1): on, (1, 0): 1 - on, (0, 0): off, (0, 1): 1 - off}
        self.seed, self.client = seed, client
        self.after, self.state = cache(self._after), cache(self._state)

    def _after(self, rounds: int, one: int, other: int) -> Fraction:
        """Return P^n(one, other), from squares of the kernel."""
        power = self.kernel
        for _ in range(int(math.log2(rounds))):
            power = {(x, y): sum((power[x, z] * power[z, y] for z in (0, 1)), Fraction()) for x, y in power}
            power = {pair: chance.limit_denominator(10**40) for pair, chance in power.items()}
        return power[one, other]

    def _state(self, t: int) -> int:
        level = 0
        while abs(self.memory) ** (2**level) >= 2**-33 and t % 2 ** (level + 1) == 0:
            level += 1
        gap = 2**level
        chance = self.share
        if abs(self.memory) ** gap >= 2**-33:
            x, y = self.state(t - gap), self.state(t + gap)
            chance = self.after(gap, x, 1) * self.after(gap, 1, y) / self.after(2 * gap, x, y)
        word = words(self.seed, Purpose.HARVEST, range(t, t + 1), range(self.client, self.client + 1))[0, 0]
        return int(int(word) < chance * 2**32)


@pytest.mark.parametrize(("stay_on", "stay_off"), PAIRS)
def test_a_state_is_what_its_definition_says(stay_on: float, stay_off: float) -> None:
    rounds = range(60, 70) if stay_on < 0.99 else range(70, 73)
    for client in (0, 5):
        plain = PlainChain(stay_on, stay_off, seed=7, client=client)
        states = Markov(stay_on, stay_off).units(7, rounds, range(client, client + 1))[:, 0]

        assert states.tolist() == [plain.state(t) for t in rounds]


@pytest.mark.parametrize(("stay_on", "stay_off"), [(0.55, 0.5), (0.45, 0.5), (0.9, 0.15), (0.0, 0.96), (1.0, 0.05)])
def test_every_path_has_the_probability_that_the_chain_gives_it(stay_on: float, stay_off: float) -> None:
    """All 512 paths of rounds 0 to 8, a whole gap of the coarsest level, as products of what each round is drawn by."""
    harvest = Markov(stay_on, stay_off)
    share, memory = (1 - stay_off) / (2 - stay_on - stay_off), np.asarray(stay_on + stay_off - 1)
    assert harvest._levels == 3
    chain = _Chain(0, range(1), share=np.asarray(share), memory=memory, levels=3)
    chances = [[float(chance) / 2**32 for chance in chain._chances(level)] for level in range(3)]
    kernel = {(1, 1): stay_on, (1, 0): 1 - stay_on, (0, 0): stay_off, (0, 1): 1 - stay_off}

    for path in product((0, 1), repeat=9):
        drawn = math.prod(share if path[t] else 1 - share for t in (0, 8))
        for t in range(1, 8):
            level = (t & -t).bit_length() - 1
            x, y = path[t - 2**level], path[t + 2**level]
            both_on, both_off, mixed = chances[level]
            on = mixed if x != y else both_on if x else both_off
            drawn *= on if path[t] else 1 - on
        law = (share if path[0] else 1 - share) * math.prod(kernel[pair] for pair in pairwise(path))
        assert abs(drawn - law) < 2**-32


@pytest.mark.parametrize(("stay_on", "stay_off"), PAIRS)
def test_shares_and_stays_are_met(stay_on: float, stay_off: float) -> None:
    """Clients are independent. Over n rounds a client's mean has variance c (1 - c) (1 + r) / (1 - r) / n, at most; a
    state stays with probability p, whatever was before, so that m of them have standard deviation sqrt(p (1 - p) / m).
    Five deviations are passed once in 10^6.
    """
    states = Markov(stay_on, stay_off).units(2026, range(2000), range(600)).astype(int)
    share, memory = (1 - stay_off) / (2 - stay_on - stay_off), stay_on + stay_off - 1

    variance = share * (1 - share) * max((1 + memory) / (1 - memory), 1) / states.size
    assert abs(states.mean() - share) < 5 * math.sqrt(variance)
    before, after = states[:-1], states[1:]
    for state, stay in ((1, stay_on), (0, stay_off)):
        stayed = after[before == state] == state
        assert abs(stayed.mean() - stay) <= 5 * math.sqrt(stay * (1 - stay) / stayed.size)


def test_runs_last_as_long_as_they_should_and_are_geometric() -> None:
    """Runs that begin in the first half of 20,000 rounds, on and off alike 1 / 0.02 = 50 rounds long on average."""
    states = Markov(0.98, 0.98).units(3, range(20_000), range(30)).T.astype(int)
    lengths = np.concatenate([runs(row, until=10_000) for row in states])

    assert abs(lengths.mean() - 50) < 5 * math.sqrt(0.98) / 0.02 / math.sqrt(lengths.size)
    for length in (1, 10, 100):
        tail = 0.98**length
        assert abs((lengths > length).mean() - tail) < 5 * math.sqrt(tail * (1 - tail) / lengths.size)


def runs(row: NDArray[Any], until: int) -> NDArray[Any]:
    changes = np.flatnonzero(np.diff(row)) + 1
    lengths: NDArray[Any] = np.diff(changes)[changes[:-1] < until]
    return lengths


def test_states_far_apart_are_correlated_as_the_chain_has_it() -> None:
    """r^n at n rounds; the mean of m products of independent pairs has standard deviation 1 / sqrt(m) at most."""
    signs = 2.0 * Markov(0.99, 0.99).units(5, range(1000, 1065), range(LARGE)) - 1
    for n in (1, 7, 64):  # across the borders of gaps of every size
        assert abs((signs[0] * signs[n]).mean() - 0.98**n) < 5 / math.sqrt(LARGE)


def test_without_memory_it_is_bernoulli_to_the_bit() -> None:
    for clients in (10, LARGE):
        units = Markov(stay_on=0.25, stay_off=0.75).units(4, range(50), range(clients))

        assert np.array_equal(units, Bernoulli(0.25).units(4, range(50), range(clients)))


@given(
    seed=st.integers(0, 2**64 - 1),
    stays=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)).filter(lambda s: 1e-6 < sum(s) < 2 - 1e-6), min_size=3,
                   max_size=3),
    first=st.integers(0, 2**31 - 100),
    part=st.tuples(st.integers(0, 39), st.integers(1, 40), st.integers(0, 2), st.integers(1, 3)),
)  # fmt: skip
@settings(max_examples=60)
def test_any_part_computed_alone_is_that_part_of_the_whole(
    seed: int, stays: list[tuple[float, float]], first: int, part: tuple[int, int, int, int]
) -> None:
    harvest = Markov(stay_on=[on for on, _ in stays], stay_off=[off for _, off in stays])
    whole = harvest.units(seed, range(first, first + 40), range(3))
    rounds, clients = range(first + part[0], first + min(part[0] + part[1], 40)), range(part[2], min(3, sum(part[2:])))

    found = harvest.units(seed, rounds, clients)

    assert np.array_equal(found, whole[part[0] :, part[2] :][: len(rounds), : len(clients)])
    alone = Markov(*stays[2]).units(seed, range(first, first + 40), range(2, 3))  # whatever the others are like
    assert np.array_equal(alone[:, 0], whole[:, 2])


def test_rounds_may_be_asked_for_in_steps_backwards_or_not_at_all() -> None:
    harvest = Markov(0.9, 0.8, size=3)
    whole = harvest.units(1, range(30), range(4))

    assert np.array_equal(harvest.units(1, range(3, 30, 7), range(4)), whole[3:30:7])
    assert np.array_equal(harvest.units(1, range(20, 2, -1), range(1, 4, 2)), whole[20:2:-1, 1:4:2])
    assert harvest.units(1, range(0), range(4)).shape == (0, 4)
    assert harvest.units(1, range(4), range(0)).shape == (4, 0)


def test_compiled_words_give_the_same_states() -> None:
    harvest = Markov(np.linspace(0, 1, LARGE), 0.7)
    whole = harvest.units(2, range(9), range(LARGE))

    assert np.array_equal(harvest.units(2, range(9), range(TILE - 5, TILE + 5)), whole[:, TILE - 5 : TILE + 5])


def test_what_cannot_be_is_never_seen() -> None:
    rounds, clients = range(500), range(50)
    assert Markov(stay_on=1, stay_off=0.5).units(0, rounds, clients).all()
    assert not Markov(stay_on=0.5, stay_off=1).units(0, rounds, clients).any()
    never_twice_on = Markov(stay_on=0, stay_off=0.5).units(0, rounds, clients)
    assert not (never_twice_on[:-1] & never_twice_on[1:]).any()
    never_twice_off = Markov(stay_on=0.5, stay_off=0).units(0, rounds, clients)
    assert (never_twice_off[:-1] | never_twice_off[1:]).all()


def test_a_round_that_is_on_brings_its_size() -> None:
    one, several, many = (Markov(0.9, 0.8, size=size) for size in (1, 7, 1000))
    units = one.units(0, range(20), range(3))

    assert np.array_equal(several.units(0, range(20), range(3)), 7 * units)
    assert np.array_equal(many.units(0, range(20), range(3)), 1000 * units.astype(int))
    assert several.mean_rates(2).tolist() == pytest.approx([14 / 3, 14 / 3])
    assert Markov([0.9, 0.5], 0.8).mean_rates(2).tolist() == pytest.approx([2 / 3, 2 / 7])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"stay_on": 1.5, "stay_off": 0.5}, r"stay_on must be in \[0, 1\], got 1.5"),
        ({"stay_on": 0.5, "stay_off": [0.1, -1]}, r"stay_off must be in \[0, 1\], got -1 for client 1"),
        (
            {"stay_on": [0.5, 0.5], "stay_off": [0.1] * 3},
            r"stay_off must be one number or one per client \(2, as stay_o",
        ),
        ({"stay_on": 1, "stay_off": 1}, r"stay_off must be in \[1e-06, 2 - 1e-06\] together with stay_on.*, got 2"),
        ({"stay_on": [0.5, 0], "stay_off": [0.5, 0]}, "stay_off must be .* only alternates.*, got 0 for client 1"),
        ({"stay_on": 0.5, "stay_off": 0.5, "size": 0}, "size must be a whole number in"),
        ({"stay_on": 0.5, "stay_off": 0.5, "size": 1.5}, "size must be a whole number in"),
        ({"stay_on": "often", "stay_off": 0.5}, r"stay_on must be in \[0, 1\]"),
    ],
)
def test_a_chain_that_cannot_be_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Markov(**parameters)


def test_lists_of_another_fleet_are_refused() -> None:
    for harvest, name in ((Markov([0.5] * 2, 0.5), "stay_on"), (Markov(0.5, [0.5] * 2), "stay_off")):
        with pytest.raises(ValueError, match=rf"^{name} must be one number or one per client \(3\), got a list of 2$"):
            harvest.mean_rates(3)
