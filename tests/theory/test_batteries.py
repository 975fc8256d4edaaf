"""What is refused of small fleets and their laws, in a line that says what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ehfl import Bernoulli, Fleet, InvalidValue
from ehfl.theory import Batteries, critical_shortfall, long_run_turnout, pooled_turnout, turnout_law

TWO, ENDLESS = Batteries(2, 0.5, 1), Batteries(10, 0.5, math.inf)
UNEQUAL = Batteries(9, np.arange(1, 10) / 10, 3)
TEXT: Any = "text"
FEW = "batteries must be so few and small that"

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no clients": (lambda: Batteries(0, 0.5, 1), "clients must be a whole number in [1, 2147483647], got 0"),
    "a rate": (lambda: Batteries(2, 1.5, 1), "rate must be in [0, 1], got 1.5"),
    "a rate of one client": (lambda: Batteries(2, [0.5, math.nan], 1), "rate must be in [0, 1], got nan for client 1"),
    "a text": (lambda: Batteries(2, TEXT, 1), "rate must be in [0, 1], got 'text'"),
    "rates": (lambda: Batteries(2, [0.5] * 3, 1), "rate must be one number or one per client (2), got a list of"),
    "no capacity": (lambda: Batteries(2, 0.5, 0), "capacity must be inf or a whole number in [1, 1073741823], got 0"),
    "half a unit": (lambda: Batteries(2, 0.5, 1.5), "capacity must be inf or a whole number in [1, 1073741823], got 1"),
    "a level": (lambda: Batteries(2, 0.5, 1, [0, 2]), "initial must be a whole number in [0, 1], got 2 for"),
    "half a level": (lambda: Batteries(2, 0.5, 1, 0.5), "initial must be a whole number in [0, 1], got 0.5"),
    "a scheduler": (lambda: turnout_law(TEXT, TWO, 3), "scheduler must be one of myopic, greedy, round-robin, got 'te"),
    "no rounds": (lambda: turnout_law("myopic", TWO, 0), "rounds must be a whole number in [1, 2147483647], got 0"),
    "a target": (lambda: turnout_law("myopic", TWO, 3, 3), "target must be a whole number in [1, 2], got 3"),
    "many states": (lambda: turnout_law("myopic", ENDLESS, 150), f"{FEW} binom(clients + capacity, clients) is at mo"),
    "many levels": (lambda: long_run_turnout("myopic", UNEQUAL), f"{FEW} (capacity + 1)^clients, as rates differ, is "),
    "very many": (lambda: turnout_law("myopic", Batteries(10**6, 0.5, 10**6), 9), f"{FEW} binom(clients + capacity, c"),
    "long laws": (lambda: turnout_law("greedy", Batteries(10**6, 0.5, 1), 10**9), "rounds must be small enough for th"),
    "no rest": (lambda: long_run_turnout("greedy", ENDLESS), "capacity must be finite: infinite batteries may never"),
    "certainty": (lambda: long_run_turnout("greedy", Batteries(2, [0.5, 1], 1)), "rate must be below 1 in the long r"),
    "a pool's target": (lambda: pooled_turnout(TWO, 10, 3), "target must be a whole number in [1, 2], got 3"),
    "a pool for ever": (lambda: pooled_turnout(ENDLESS, 10**9), "rounds must be small enough for the memory"),
    "no target": (lambda: critical_shortfall(0, 1.0, 10), "target must be a whole number >= 1, got 0"),
    "a variance": (lambda: critical_shortfall(1, -1.0, 10), "variance must be a number in [0, 1e30], got -1.0"),
    "no rounds at all": (lambda: critical_shortfall(1, 1.0, 0), "rounds must be a whole number >= 1, got 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_in_a_line(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(InvalidValue) as refused:
        call()
    assert str(refused.value).startswith(message)


def test_too_many_states_are_named() -> None:
    with pytest.raises(InvalidValue, match=r"clients\) is at most 3,333, got 10 clients of 150 units$"):
        turnout_law("myopic", ENDLESS, 150)


@pytest.mark.parametrize("rates", [0.5, [0.1] * 10, [0.2, 0.3], [0.01], [0.29] * 100])
def test_a_target_that_is_not_given_is_the_fleets(rates: Any) -> None:
    clients = np.size(rates) if np.ndim(rates) else 3

    assert Batteries(clients, rates, 1).sustainable == Fleet(clients, Bernoulli(rates), capacity=1).sustainable
