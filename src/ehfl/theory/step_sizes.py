"""Step sizes eta_t as pure functions of the counts n_t. An empty round has step size 0.

`theorem` is the step size of the paper's Theorem 1, `nominal` the one of its experiment (section 4). `nominal` and
`linear` look at a whole window of rounds, its later ones included: the participation is known before training. Their
causal twins look at the past window instead, for a fleet that cannot see ahead. `theorem` and `constant` use no round
but their own, so they are their own twins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.validation import InvalidValue, closest, whole_number

FloatArray = NDArray[np.float64]
StepSize = Callable[[ArrayLike], FloatArray]


def theorem(counts: ArrayLike, eta: float = 1.0) -> FloatArray:
    """Return eta * sqrt(n_t / T), shape (n_rounds,) (paper, Theorem 1).

    >>> theorem([4, 0, 1, 4], eta=0.5).tolist()
    [0.5, 0.0, 0.25, 0.5]
    """
    n_t = _checked(counts)
    return _positive("eta", eta) * np.sqrt(n_t / n_t.size)


def constant(counts: ArrayLike, value: float = 0.15) -> FloatArray:
    """Return `value` in every round that is not empty, shape (n_rounds,).

    >>> constant([3, 0, 1], value=0.5).tolist()
    [0.5, 0.0, 0.5]
    """
    return np.where(_checked(counts) > 0, _positive("value", value), 0.0)


def nominal(
    counts: ArrayLike, initial: float = 0.15, decay: float = 0.99, every: int = 10, window: int = 10
) -> FloatArray:
    """Return c * sqrt(n_t), with c such that a window's non-empty rounds have the nominal value as their mean.

    The nominal value of round t is initial * decay^(t // every); shape (n_rounds,) (paper, section 4).

    >>> nominal([1, 4, 0], initial=0.3).round(12).tolist()
    [0.2, 0.4, 0.0]
    """
    n_t = _checked(counts)
    return _levels(n_t.size, initial, decay, every) * _shape(np.sqrt(n_t), window)


def linear(
    counts: ArrayLike, initial: float = 0.15, decay: float = 0.99, every: int = 10, window: int = 10
) -> FloatArray:
    """Return c * n_t, with c as in `nominal`.

    >>> linear([1, 5, 0], initial=0.3).round(12).tolist()
    [0.1, 0.5, 0.0]
    """
    n_t = _checked(counts)
    return _levels(n_t.size, initial, decay, every) * _shape(n_t, window)


def nominal_causal(
    counts: ArrayLike, initial: float = 0.15, decay: float = 0.99, every: int = 10, window: int = 10
) -> FloatArray:
    """Return `nominal` with c from the last past window that was not empty; before there is one, the nominal value.

    >>> nominal_causal([1, 4, 0, 9, 4], initial=0.3, window=2).round(12).tolist()
    [0.3, 0.3, 0.0, 0.6, 0.2]
    """
    n_t = _checked(counts)
    return _levels(n_t.size, initial, decay, every) * _causal_shape(np.sqrt(n_t), window)


def linear_causal(
    counts: ArrayLike, initial: float = 0.15, decay: float = 0.99, every: int = 10, window: int = 10
) -> FloatArray:
    """Return `linear` with c from the last past window that was not empty; before there is one, the nominal value."""
    n_t = _checked(counts)
    return _levels(n_t.size, initial, decay, every) * _causal_shape(n_t, window)


STEP_SIZES: Mapping[str, Callable[..., FloatArray]] = MappingProxyType(
    {
        "theorem": theorem,
        "nominal": nominal,
        "linear": linear,
        "constant": constant,
        "nominal-causal": nominal_causal,
        "linear-causal": linear_causal,
    }
)


def make_step_size(name: str, **options: float) -> StepSize:
    """Return the rule of that name as a function of the counts.

    >>> make_step_size("constant", value=0.1)([2, 0]).tolist()
    [0.1, 0.0]
    """
    key = name.strip().lower().replace("_", "-")
    if key not in STEP_SIZES:
        raise InvalidValue("step_size", f"one of {', '.join(STEP_SIZES)}", f"{name}{closest(key, STEP_SIZES)}")
    rule = STEP_SIZES[key]
    return lambda counts: rule(counts, **options)


def _checked(counts: ArrayLike) -> FloatArray:
    """Return n_t as floats, or refuse what cannot be counts."""
    n_t = np.asarray(counts)
    if n_t.ndim != 1 or n_t.size == 0 or n_t.dtype.kind not in "iu" or n_t.min() < 0:
        given = f"an array of {n_t.dtype} and shape {n_t.shape}"
        raise InvalidValue("counts", "whole numbers >= 0, one a round", given)
    return n_t.astype(np.float64)


def _positive(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise InvalidValue(name, "a finite number > 0", value)
    return float(value)


def _levels(rounds: int, initial: float, decay: float, every: int) -> FloatArray:
    """Return the nominal values initial * decay^(t // every), shape (n_rounds,)."""
    start, factor = _positive("initial", initial), _positive("decay", decay)
    exponents = np.arange(rounds) // whole_number("every", every, low=1)
    return start * np.power(factor, exponents.astype(np.float64))


def _window_means(weight: FloatArray, window: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return each window's mean over its non-empty rounds (0 if it has none) and each round's window."""
    index = np.arange(weight.size) // whole_number("window", window, low=1)
    filled = np.bincount(index, weight > 0)
    return np.bincount(index, weight) / np.maximum(filled, 1), index


def _shape(weight: FloatArray, window: int) -> FloatArray:
    """Return the weights over their window's mean, so that each window's mean is 1."""
    means, index = _window_means(weight, window)
    return weight / np.where(means > 0, means, 1.0)[index]


def _causal_shape(weight: FloatArray, window: int) -> FloatArray:
    """Return the weights over the mean of the last past window that has one; 1 before there is any."""
    means, index = _window_means(weight, window)
    latest = np.maximum.accumulate(np.where(means > 0, np.arange(means.size), -1))  # last non-empty window so far
    past = np.concatenate([[-1], latest[:-1]])[index]
    return np.where(past >= 0, weight / np.where(past >= 0, means[past], 1.0), np.where(weight > 0, 1.0, 0.0))
