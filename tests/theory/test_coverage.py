"""What the theorem that covers an arm says of its steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ehfl.arrays import FloatArray
from ehfl.theory import Constants, Covering, best_along, bound_alike, coverage
from ehfl.theory.bounds.optimal import best_factor

COUNTS = [0, 3, 1, 3]
ETAS = np.array([0.0, 0.3, 0.1, 0.2])


def two_terms(etas: FloatArray) -> float:
    """1 / sum + sum: smallest, 2, where all step sizes add up to 1."""
    return 1 / float(etas.sum()) + float(etas.sum())


FOUND = Covering("X", "of two terms", two_terms, largest_step=0.5, condition="1/2")


def test_the_bound_is_that_of_the_steps_and_of_the_best_constant_one() -> None:
    said = coverage(FOUND, COUNTS, ETAS)

    assert (said.theorem, said.why) == ("X", "of two terms")
    assert said.largest_step == pytest.approx(0.6)
    assert said.own_steps == pytest.approx(1 / 0.6 + 0.6)
    assert said.best_constant == pytest.approx(2)  # 1/3 in each of three rounds


def test_steps_beyond_the_condition_have_no_bound() -> None:
    said = coverage(FOUND, COUNTS, 2 * ETAS)

    assert said.theorem is None and said.own_steps is None
    assert said.best_constant == pytest.approx(2)
    assert said.why == "steps are beyond 1/2, up to which theorem X is proven"
    assert coverage(FOUND, COUNTS, ETAS / 0.6).theorem == "X"  # up to it, they have


def test_without_participants_there_is_no_bound() -> None:
    said = coverage(FOUND, [0, 0], np.zeros(2))

    assert (said.own_steps, said.best_constant) == (math.inf, math.inf)


@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e40])
def test_the_best_factor_is_found_at_any_scale(scale: float) -> None:
    assert best_factor(lambda c: scale / c + c / scale, largest=1e60) == pytest.approx(scale, rel=1e-6)
    assert best_factor(lambda c: scale / c, largest=3.0) == 3.0
    assert best_factor(lambda c: math.inf if c > scale else 1 / c, largest=1e60) <= scale


@pytest.mark.parametrize("local_steps", [1, 5])
def test_the_best_constant_step_of_theorem_a_is_its_best_along_constants(local_steps: int) -> None:
    constants = Constants(smoothness=2.0, variance=3.0, gap=0.1)
    counts = [5, 1, 0, 4] * 50
    limit = 0.5 if local_steps == 1 else 1 / 80
    found = Covering("A", "", lambda etas: bound_alike(counts, etas, local_steps, constants).value, limit, "")
    best = bound_alike(counts, best_along("constant", counts, local_steps, constants), local_steps, constants).value

    assert coverage(found, counts, np.zeros(200)).best_constant == pytest.approx(best, rel=1e-9)
