"""What is expected of a harvest: as it says beforehand, else its mean rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ehfl.energy import Bernoulli, Fleet
from ehfl.energy.feed import Expectation
from ehfl.validation import UserError


class Foretold:
    """Client i expects 10 t + i in round t; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[range] = []

    def units(self, seed: int, rounds: range, clients: range) -> Any:
        return np.zeros((len(rounds), len(clients)), np.uint8)

    def mean_rates(self, n_clients: int) -> Any:
        return np.zeros(n_clients)

    def expected(self, rounds: range, clients: range) -> Any:
        self.asked.append(rounds)
        return np.add.outer(10 * np.asarray(rounds), np.asarray(clients))


def test_a_harvest_that_says_nothing_beforehand_is_expected_to_be_as_on_average() -> None:
    ahead = Expectation(Fleet(2, Bernoulli([0.25, 1.0]))).ahead(t=100, rounds=2)

    assert ahead.tolist() == [[0.25, 1.0]] * 2


def test_what_a_harvest_foretells_is_of_the_rounds_asked_for_in_any_order() -> None:
    expectation = Expectation(Fleet(2, Foretold()))

    for t in (0, 3, 2, 10**6, 5):
        assert expectation.ahead(t, 3).tolist() == [[10 * s, 10 * s + 1] for s in range(t, t + 3)]


def test_it_is_asked_many_rounds_at_once() -> None:
    harvest = Foretold()
    expectation = Expectation(Fleet(1000, harvest))
    for t in range(2000):
        expectation.ahead(t, 24)

    assert len(harvest.asked) == 2
    assert max(len(rounds) for rounds in harvest.asked) * 1000 < 1.1 * 2**20  # numbers that are kept


def test_what_is_expected_cannot_be_changed() -> None:
    for harvest in (Foretold(), Bernoulli(0.5)):
        with pytest.raises(ValueError, match="read-only"):
            Expectation(Fleet(2, harvest)).ahead(0, 3)[0, 0] = 7


def test_charging_and_standing_by_take_their_part() -> None:
    plain, foretold = (
        Expectation(Fleet(2, harvest, efficiency=[0.5, 1.0], drain=[1.0, 3.0], leak=0.1))
        for harvest in (Bernoulli([1.0, 0.5]), Foretold())
    )

    assert plain.ahead(0, 1).tolist() == [[-0.5, -2.5]]
    assert foretold.ahead(1, 1).tolist() == [[4.0, 8.0]]


def test_a_unit_harvest_in_joules_is_foretold_in_quanta() -> None:
    facts: dict[str, Any] = {"capacity": 100, "cost": 2, "round_length": 60, "quantum": 0.1, "arrival": 3}
    foretold, mean = (Expectation(Fleet.in_joules(2, harvest, **facts)) for harvest in (Foretold(), Bernoulli(0.5)))

    assert foretold.ahead(1, 1).tolist() == [[300.0, 330.0]]
    assert mean.ahead(1, 1).tolist() == [[15.0, 15.0]]


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (np.zeros((1, 2)), r"Wrong: expected must have shape \(524291, 2\), got \(1, 2\)"),
        ("text", r"Wrong: expected must have shape"),
        (np.zeros((524291, 2), complex), "Wrong: expected must be numbers, got complex128"),
        (np.full((524291, 2), -0.5), "at least 0, got -0.5 for client 0 in round 4"),
        (np.full((524291, 2), np.nan), "at least 0, got nan for client 0 in round 4"),
        (
            ZeroDivisionError("no"),
            r"Wrong fails: expected, rounds 4 to 524294, ZeroDivisionError: no \(test_expectation",
        ),
    ],
)
def test_an_expectation_that_is_none_is_refused_in_one_line(found: Any, fault: str) -> None:
    class Wrong(Foretold):
        def expected(self, rounds: range, clients: range) -> Any:
            if isinstance(found, Exception):
                raise found
            return found

    with pytest.raises(UserError, match=fault):
        Expectation(Fleet(2, Wrong())).ahead(4, 3)
