"""The counts n_t of a participation: checked once for all of theory, and weighed against a window of rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import BoolArray, FloatArray, IntArray, real_numbers
from ehfl.validation import InvalidValue

_ALLOWED = "whole numbers >= 0, one a round"


def checked_counts(counts: ArrayLike, name: str = "counts") -> FloatArray:
    """Return n_t as floats, shape (n_rounds,), or refuse what cannot be counts; 5.0 is as good as 5.

    >>> checked_counts([5.0, 0, 2]).tolist()
    [5.0, 0.0, 2.0]
    """
    n_t = real_numbers(name, counts, _ALLOWED)
    if n_t.ndim != 1 or n_t.size == 0:
        raise InvalidValue(name, _ALLOWED, f"an array of shape {n_t.shape}")
    wrong = ~(np.isfinite(n_t) & (n_t >= 0) & (n_t == np.floor(n_t)))
    if wrong.any():
        t = int(np.argmax(wrong))
        raise InvalidValue(name, _ALLOWED, f"{n_t[t]:g} in round {t}")
    return n_t


def checked_turns(took_part: ArrayLike) -> BoolArray:
    """Return who took part in which round, shape (n_rounds, n_clients), or refuse what does not say so."""
    turns = np.asarray(took_part)
    if turns.ndim != 2 or turns.size == 0 or turns.dtype != np.bool_:
        allowed = "booleans, shape (n_rounds, n_clients)"
        raise InvalidValue("took_part", allowed, f"an array of {turns.dtype} and shape {turns.shape}")
    return turns


def over_window(weight: FloatArray, window: int) -> FloatArray:
    """Return the weights over the mean of their window's non-empty rounds, so that each such mean is 1.

    >>> over_window(np.array([1.0, 3.0, 0.0, 5.0]), window=2).tolist()
    [0.5, 1.5, 0.0, 1.0]
    """
    means, index = _window_means(weight, window)
    return weight / np.where(means > 0, means, 1.0)[index]


def over_past_window(weight: FloatArray, window: int) -> FloatArray:
    """Return the weights over the mean of the last past window that has one; before there is any, 1 (0 if empty).

    >>> over_past_window(np.array([1.0, 3.0, 0.0, 5.0]), window=2).tolist()
    [1.0, 1.0, 0.0, 2.5]
    """
    means, index = _window_means(weight, window)
    latest = np.maximum.accumulate(np.where(means > 0, np.arange(means.size), -1))  # last non-empty window so far
    past = np.concatenate([[-1], latest[:-1]])[index]
    return np.where(past >= 0, weight / np.where(past >= 0, means[past], 1.0), np.where(weight > 0, 1.0, 0.0))


def _window_means(weight: FloatArray, window: int) -> tuple[FloatArray, IntArray]:
    """Return each window's mean over its non-empty rounds (0 if it has none) and each round's window."""
    index = np.arange(weight.size) // min(window, weight.size)
    filled = np.bincount(index, weight > 0)
    return np.bincount(index, weight) / np.maximum(filled, 1), index
