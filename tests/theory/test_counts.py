"""One check of n_t for all of theory."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ehfl.theory import Constants, best_along, bound, leading_order, promise, step_size_of, verify
from ehfl.theory.participants import checked_counts
from ehfl.theory.step_sizes import STEP_SIZES

UNIT = Constants(smoothness=1.0, variance=1.0, gap=1.0)
WHOLE = [np.array([5, 0, 2]), np.array([5, 0, 2], dtype=np.uint8), np.array([5.0, 0.0, 2.0]), [5.0, 0, 2]]


@pytest.mark.parametrize("counts", WHOLE, ids=repr)
def test_whole_numbers_of_any_type_are_counts(counts: np.ndarray) -> None:
    n_t = checked_counts(counts)

    assert n_t.tolist() == [5.0, 0.0, 2.0]
    assert n_t.dtype == np.float64


def test_the_callers_array_is_not_shared() -> None:
    given = np.array([5.0, 0.0])

    checked_counts(given)[0] = 7

    assert given.tolist() == [5.0, 0.0]


@pytest.mark.parametrize(
    ("counts", "got"),
    [
        ([], "an array of shape (0,)"),
        ([[1, 2]], "an array of shape (1, 2)"),
        (3, "an array of shape ()"),
        (["5"], "an array of <U1 and shape (1,)"),
        ([True], "an array of bool and shape (1,)"),
        ([None], "an array of object and shape (1,)"),
        ([1, -1], "-1 in round 1"),
        ([1, 2, 1.5], "1.5 in round 2"),
        ([math.nan], "nan in round 0"),
        ([2, math.inf], "inf in round 1"),
    ],
)
def test_what_cannot_be_counts_is_refused_with_what_it_is(counts: object, got: str) -> None:
    with pytest.raises(ValueError) as caught:
        checked_counts(counts)  # type: ignore[arg-type]

    assert str(caught.value) == f"counts must be whole numbers >= 0, one a round, got {got}"


@pytest.mark.parametrize("name", STEP_SIZES.members)
def test_step_sizes_take_whole_floats_and_refuse_the_rest(name: str) -> None:
    rule = step_size_of(name)

    assert rule([5.0, 0.0, 2.0]).tolist() == rule([5, 0, 2]).tolist()
    with pytest.raises(ValueError, match=r"counts must be .*, got 1.5 in round 0"):
        rule([1.5])


def test_bounds_take_whole_floats() -> None:
    ints, floats, etas = [5, 0, 2], [5.0, 0.0, 2.0], [0.1, 0.0, 0.1]

    assert bound(floats, etas, local_steps=1, smoothness=1.0, variance=1.0, gap=1.0) == bound(
        ints, etas, local_steps=1, smoothness=1.0, variance=1.0, gap=1.0
    )
    assert leading_order(floats, etas) == leading_order(ints, etas)
    assert best_along("sqrt", floats, 2, UNIT).tolist() == best_along("sqrt", ints, 2, UNIT).tolist()
    assert promise(floats, 1, UNIT) == promise(ints, 1, UNIT)


def test_the_experiment_takes_whole_floats() -> None:
    ints, floats = (verify({"mine": counts}, seeds=2) for counts in ([2, 0, 3], [2.0, 0.0, 3.0]))

    assert [run() for run in ints] == [run() for run in floats]
