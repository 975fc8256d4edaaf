"""Harvests: Bernoulli, a contract over all that are registered, and one's own."""

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ehfl.energy import Bernoulli, Fleet
from ehfl.randomness import TILE, Purpose, words
from ehfl.scheduling import Greedy, simulate
from ehfl.validation import UserError

LARGE = 2 * TILE + 77  # two whole tiles and a part of one: compiled


def test_rate_zero_never_harvests_and_rate_one_always_does() -> None:
    for clients in (5, LARGE):
        never = Bernoulli(rate=0).units(3, range(4), range(clients))
        always = Bernoulli(rate=1).units(3, range(4), range(clients))

        assert not never.any()
        assert always.all()


def test_a_list_of_rates_has_one_for_each_client() -> None:
    harvest = Bernoulli(rate=[1.0, 0.0, 1.0, 0.0])

    assert harvest.units(0, range(2), range(4)).tolist() == [[1, 0, 1, 0]] * 2
    assert harvest.units(0, range(1), range(1, 3)).tolist() == [[0, 1]]
    assert harvest.mean_rates(4).tolist() == [1.0, 0.0, 1.0, 0.0]


def test_a_harvest_is_a_unit_where_the_word_lies_below_rate_times_two_to_the_32() -> None:
    drawn = words(9, Purpose.HARVEST, range(1), range(3))[0]
    edge = drawn[1] / 2**32  # exactly representable: the word itself is not below it, the next one would be
    above = (int(drawn[1]) + 1) / 2**32

    assert Bernoulli([0.0, edge, 1.0]).units(9, range(1), range(3)).tolist() == [[0, 0, 1]]
    assert Bernoulli([0.0, above, 1.0]).units(9, range(1), range(3)).tolist() == [[0, 1, 1]]


@pytest.mark.parametrize("rate", [1e-5, 0.01, 0.3, 0.5, 1 - 1e-4])
def test_the_rate_is_met(rate: float) -> None:
    """The mean of n draws has standard deviation sqrt(rate (1 - rate) / n); five of them are passed once in 10^6."""
    units = Bernoulli(rate).units(2026, range(200), range(LARGE))

    assert abs(units.mean() - rate) < 5 * math.sqrt(rate * (1 - rate) / units.size)


def test_clients_harvest_independently_of_each_other() -> None:
    """The variance of the sum over m independent clients is m rate (1 - rate); a sample variance of n rounds has
    relative standard deviation sqrt(2 / n).
    """
    totals = Bernoulli(0.3).units(5, range(4000), range(50)).sum(axis=1)

    assert abs(totals.var() / (50 * 0.3 * 0.7) - 1) < 5 * math.sqrt(2 / 4000)


@pytest.mark.parametrize("rate", [0.0, 1e-9, 1e-5, 0.3, 0.5, 1 - 1e-5, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("start", [0, 3 * TILE])
def test_compiled_harvest_of_one_rate_equals_its_definition(rate: float, start: int) -> None:
    clients = range(start, start + LARGE)
    units = Bernoulli(rate).units(2**63 + 5, range(2, 8), clients)

    drawn = words(2**63 + 5, Purpose.HARVEST, range(2, 8), clients)
    assert np.array_equal(units, drawn < rate * 2.0**32)


@pytest.mark.parametrize("clients", [TILE + 1, LARGE])  # TILE + 1: the last tile has a single rate
def test_compiled_harvest_of_many_rates_equals_its_definition(clients: int) -> None:
    rates = np.resize([0.0, 1e-9, 1e-5, 0.3, 0.5, 1 - 1e-9, 1.0], clients)
    rates[-1] = 0.3
    units = Bernoulli(rates).units(4, range(40), range(clients))

    drawn = words(4, Purpose.HARVEST, range(40), range(clients))
    assert np.array_equal(units, drawn < rates * 2.0**32)


@pytest.mark.parametrize("many", [False, True])
def test_compiled_harvest_decides_by_the_lower_half_where_the_upper_is_that_of_the_threshold(many: bool) -> None:
    drawn = words(4, Purpose.HARVEST, range(1), range(LARGE))[0]
    for client in (0, 1, TILE + 5, LARGE - 1):
        for more, expected in ((0, 0), (1, 1)):
            rate = (int(drawn[client]) + more) / 2**32
            units = Bernoulli([rate] * LARGE if many else rate).units(4, range(1), range(LARGE))

            assert units[0, client] == expected


def test_any_part_of_a_large_harvest_computed_alone_is_the_same() -> None:
    rates = np.linspace(0, 1, LARGE)
    whole = Bernoulli(rates).units(1, range(3), range(LARGE))
    part = Bernoulli(rates).units(1, range(1, 2), range(TILE - 5, TILE + 5))

    assert np.array_equal(part, whole[1:2, TILE - 5 : TILE + 5])


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (1.5, r"rate must be in \[0, 1\], got 1.5"),
        (-0.1, r"rate must be in \[0, 1\], got -0.1"),
        (math.nan, r"rate must be in \[0, 1\], got nan"),
        (math.inf, r"rate must be in \[0, 1\], got inf"),
        ([0.5, 1.5], r"rate must be in \[0, 1\], got 1.5 for client 1"),
        ([0.5, math.nan], r"rate must be in \[0, 1\], got nan for client 1"),
        ([], "rate must be one number or a list of one per client, got an array of shape"),
        ([[0.5]], "rate must be one number or a list of one per client, got an array of shape"),
        ("sun", r"rate must be in \[0, 1\], got 'sun'"),
    ],
)
def test_a_rate_that_is_no_probability_is_refused(rate: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bernoulli(rate)


# one's own; that every registered harvest keeps the rules is in test_check_harvest.py


@dataclass(frozen=True)
class EveryThirdRound:
    """A user's harvest: client i gets i + 1 units in rounds 2, 5, 8, ..."""

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.int64]:
        due = np.asarray(rounds) % 3 == 2
        units: NDArray[np.int64] = due[:, None] * (np.asarray(clients) + 1)
        return units

    def mean_rates(self, n_clients: int) -> NDArray[np.float64]:
        return (np.arange(n_clients) + 1) / 3


def test_a_harvest_of_ones_own_runs_in_a_simulation() -> None:
    fleet = Fleet(clients=2, harvest=EveryThirdRound(), capacity=2)
    played = simulate(fleet, Greedy(), rounds=9, seed=0)

    assert fleet.sustainable == 1
    assert played.counts.tolist() == [0, 0, 0, 2, 1, 0, 2, 1, 0]
    assert (played.totals.harvested, played.totals.spent, played.totals.stored) == (9, 6, 3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((1, 2), int), r"units must have shape \(3, 2\), got \(1, 2\)"),
        (np.zeros((3, 2)), r"units must be whole numbers \(.astype\(np.uint8\)\), got float64"),
        (np.full((3, 2), -1), r"units must be in \[0, \d+\], got -1"),
    ],
)
def test_a_harvest_that_returns_nonsense_is_named(wrong: NDArray[Any], message: str) -> None:
    class Broken:
        def units(self, seed: int, rounds: range, clients: range) -> NDArray[Any]:
            return wrong

        def mean_rates(self, n_clients: int) -> NDArray[np.float64]:
            return np.ones(n_clients)

        def __repr__(self) -> str:
            return "Broken()"

    with pytest.raises(ValueError, match=r"Broken\(\): " + message):
        simulate(Fleet(clients=2, harvest=Broken()), Greedy(), rounds=3)


def test_a_harvest_that_fails_while_it_is_played_is_one_line() -> None:
    class Fails:
        def units(self, seed: int, rounds: range, clients: range) -> NDArray[Any]:
            return np.zeros((len(rounds), len(clients)), int) // (len(clients) - 2)

        def mean_rates(self, n_clients: int) -> NDArray[np.float64]:
            return np.ones(n_clients)

    class Exits(Fails):
        def units(self, seed: int, rounds: range, clients: range) -> NDArray[Any]:
            return super().units(seed, rounds, clients) if len(clients) == 1 else sys.exit()

    with pytest.raises(
        UserError, match=r"^Fails fails: units, rounds 0 to 2, RuntimeWarning: divide .* \(test_harvest.py:\d+\)$"
    ):
        simulate(Fleet(clients=2, harvest=Fails()), Greedy(), rounds=3)
    with pytest.raises(UserError, match=r"^Exits fails: units, rounds 0 to 2, SystemExit.* \(test_harvest.py:\d+\)$"):
        simulate(Fleet(clients=2, harvest=Exits()), Greedy(), rounds=3)
