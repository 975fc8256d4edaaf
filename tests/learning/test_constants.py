"""Estimated constants against known ones."""

from __future__ import annotations

import math

import pytest

from ehfl.learning import estimate_constants, load_task


@pytest.mark.parametrize(("name", "gap"), [("quadratic", 5.5), ("wells", 2.75)])
def test_estimates_agree_with_the_constants_of_known_problems(name: str, gap: float) -> None:
    found = estimate_constants(load_task(name), batch_size=40, batches=200)

    # L is 1, from below: power iteration approaches the largest eigenvalue, 1, past the next one, 0.95
    assert 0.9 < found.smoothness <= 1.001
    assert found.gap == pytest.approx(gap, rel=1e-6)
    # sigma^2 is 1 for one example; 40 of 1,000 without replacement leave (1/40)(960/999). The mean of 200 squared norms
    # in 20 dimensions has a relative standard error of sqrt(2/20/200).
    assert found.variance == pytest.approx(960 / 999 / 40, rel=5 * math.sqrt(2 / 20 / 200))


def test_estimates_are_a_pure_function_of_task_and_seed() -> None:
    task = load_task("quadratic")

    first, second = (estimate_constants(task, seed=3, iterations=3) for _ in range(2))

    assert first == second
    assert estimate_constants(task, seed=4, iterations=3) != first


def test_digits_has_estimates_of_a_plausible_size() -> None:
    found = estimate_constants(load_task("digits"), batches=8, iterations=3)

    assert found.gap == pytest.approx(math.log(10), rel=0.05)  # ten classes, no knowledge
    assert 0.1 < found.smoothness < 100 and 0 < found.variance < 1
