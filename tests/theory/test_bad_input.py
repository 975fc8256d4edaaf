"""Whatever a user gives to a public function of theory: an answer or one line that names it, never NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ehfl.theory import (
    Constants,
    Extremes,
    Nominal,
    Quadratic,
    Theorem,
    best_along,
    best_of_all,
    bound,
    bound_slowdown,
    largest_eta,
    largest_step,
    leading_order,
    pace,
    promise,
    theorem1,
    theorem2,
)
from ehfl.validation import InvalidValue

UNIT = Constants(1.0, 1.0, 1.0)
EXTREMES = Extremes(1, 2, 3)
BAD: list[Any] = [
    None, "x", "3", math.nan, math.inf, -1, 0, True, 2.5, 1e300, 5e-324, 10**30, 1 + 2j, {}, [], [[]], [1], [[1]],
    [1, [2, 3]], ["a"], [None], [1, 2], [math.nan, 1], [math.inf, 1], [0, 0], [-1, 2], [5e-324, 5e-324],
]  # fmt: skip
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "bound": (
        bound,
        {"counts": [1, 2], "etas": [0.1, 0.1], "local_steps": 1, "smoothness": 1.0, "variance": 1.0, "gap": 1.0},
    ),
    "leading_order": (leading_order, {"counts": [1, 2], "etas": [0.1, 0.1], "local_steps": 1}),
    "best_along": (best_along, {"rule": "sqrt", "counts": [1, 2], "local_steps": 5}),
    "best_of_all": (best_of_all, {"counts": [1, 2], "local_steps": 5}),
    "pace": (pace, {"value": 0.5, "counts": [1, 2], "local_steps": 5}),
    "promise": (promise, {"counts": [1, 2], "local_steps": 5}),
    "bound_slowdown": (bound_slowdown, {"mains": [2, 2], "local_steps": 1}),
    "theorem1": (theorem1, {"eta": 0.1}),
    "theorem2": (theorem2, {"eta": 0.01, "local_steps": 2}),
    "largest_eta": (largest_eta, {"local_steps": 2, "smoothness": 1.0}),
    "largest_step": (largest_step, {"local_steps": 2, "smoothness": 1.0}),
    "Constants": (Constants, {"smoothness": 1.0, "variance": 1.0, "gap": 1.0}),
    "Extremes": (Extremes, {"n_min": 1, "n_max": 2, "rounds": 3}),
    "Quadratic": (Quadratic, {"curvature": [1.0], "minimiser": 0.0, "variance": 1.0}),
    "Theorem": (Theorem(0.1), {"counts": [1, 2], "rounds": 3}),
    "Nominal": (Nominal, {"initial": 0.1, "decay": 0.9, "every": 2, "window": 2}),
}
FIXED: dict[str, dict[str, Any]] = {
    "best_along": {"constants": UNIT},
    "best_of_all": {"constants": UNIT},
    "pace": {"constants": UNIT},
    "promise": {"constants": UNIT},
    "bound_slowdown": {"kept": promise([1, 2], 1, UNIT), "constants": UNIT},
    "theorem1": {"extremes": EXTREMES, "constants": UNIT},
    "theorem2": {"extremes": EXTREMES, "constants": UNIT},
    "largest_eta": {"extremes": EXTREMES},
}


@pytest.mark.parametrize("name", CALLS)
def test_bad_input_is_one_line_and_never_nan(name: str) -> None:
    function, good = CALLS[name]
    for key in good:
        for bad in BAD:
            try:
                found = function(**FIXED.get(name, {}), **(good | {key: bad}))
            except InvalidValue as error:
                assert error.name in good and "\n" not in str(error) and len(str(error)) < 300, (key, bad)
                continue
            numbers = found if isinstance(found, float | np.ndarray) else 0.0
            assert not np.isnan(numbers).any(), (key, bad)


def test_steps_of_any_size_have_a_leading_order() -> None:
    for eta in (5e-324, 1e-200, 1e200):
        assert leading_order([4] * 25, [eta] * 25) == pytest.approx(0.1)


def test_windows_longer_than_any_run_are_one_window() -> None:
    assert Nominal(0.3, 0.5, 10**30, 10**30)([1, 4, 0]).tolist() == pytest.approx([0.2, 0.4, 0.0])
