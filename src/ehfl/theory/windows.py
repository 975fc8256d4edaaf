"""The bound for participants that take turns: over a window of rounds, what counts is how evenly clients were heard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.theory.bounds import CROSS, DRIFT, Constants, check_eta, largest_step
from ehfl.theory.chances import imbalance
from ehfl.theory.counts import checked_turns
from ehfl.theory.descent import Bound, Deviation, Rounds
from ehfl.validation import of_kind, whole_number


@dataclass(frozen=True, eq=False, slots=True)
class Windows:
    """A participation, window by window."""

    steps: FloatArray  # m: rounds with participants, (n_windows,)
    chi_square: FloatArray  # N sum_i (c_i - 1/N)^2, c_i being what client i weighs in the window, (n_windows,)
    inverse: FloatArray  # 1/n of each round, 0 for an empty one, (n_windows, window)
    apart: FloatArray  # (N - n)/n likewise
    later: FloatArray  # how many rounds with participants follow in the window, (n_windows, window)

    def largest_step(self, smoothness: float) -> float:
        """Return 1/(8 m L) for the largest m, and 1/L where that is one: the largest eta of theorem H."""
        return largest_step(max(int(self.steps.max()), 1), smoothness)


def windows_of(took_part: ArrayLike, window: int) -> Windows:
    """Return windows of so many rounds, the last may have fewer, of who took part in which, (n_rounds, n_clients).

    >>> windows_of(np.eye(4, dtype=bool), 2).chi_square.tolist()  # two of four clients heard, half each
    [1.0, 1.0]
    """
    turns, window = checked_turns(took_part), whole_number("window", window, low=1)
    rounds, clients = turns.shape
    window = min(window, rounds)
    lacking = -rounds % window
    turns = np.concatenate([turns, np.zeros((lacking, clients), dtype=np.bool_)]).reshape(-1, window, clients)
    n = turns.sum(axis=2)
    inverse = np.divide(1.0, n, out=np.zeros(n.shape), where=n > 0)
    steps = (n > 0).sum(axis=1)
    heard = np.einsum("wtc,wt->wc", turns, inverse) / np.maximum(steps, 1)[:, None]  # c_i
    chi_square = np.where(steps > 0, imbalance(heard), 0.0)
    later = steps[:, None] - np.cumsum(n > 0, axis=1)
    return Windows(
        steps.astype(float), chi_square, inverse, np.where(n > 0, clients * inverse - 1, 0.0), later * (n > 0)
    )


def bound_windows(windows: Windows, eta: float, constants: Constants) -> Bound:
    """Return the bound for K = 1 on the gradients at the first rounds of windows (docs/theory.md, theorem H).

    A window with m rounds that have participants is one step of the lemma, made of m small ones. In it client i weighs
    c_i, the mean of 1{i in S}/|S| over these rounds, and

        |sum_i c_i grad f_i - grad f|^2 <= chi^2 zeta^2,   chi^2 = N sum_i (c_i - 1/N)^2,

    which is 0 where all were heard as much: turns that come round have no floor. The price is a drift over m steps, and
    eta <= 1/(8 m L), for m > 1. With windows of one round it is theorem C.

    >>> unlike = Constants(smoothness=1.0, variance=0.0, gap=1.0, heterogeneity=1.0)
    >>> by_turns = np.tile(np.eye(2, dtype=bool), (10_000, 1))
    >>> [round(bound_windows(windows_of(by_turns, rounds), 0.01, unlike).value, 2) for rounds in (1, 2)]
    [1.01, 0.01]
    """
    windows, constants = of_kind("windows", windows, Windows), of_kind("constants", constants, Constants)
    limit, m = windows.largest_step(constants.smoothness), windows.steps
    check_eta(eta, limit, "1/L" if m.max() <= 1 else "1/(8 m L)")
    return Rounds(np.where(m > 0, eta, 0.0), m, constants.smoothness, _deviation(windows, eta, constants)).bound(
        constants.gap
    )


def _deviation(windows: Windows, eta: float, constants: Constants) -> Deviation:
    """Return a, r and s of each window; the rounds' own noise and distance count as often as rounds follow them."""
    L, s2, z2 = constants.smoothness, constants.variance, constants.heterogeneity
    m, later = windows.steps, windows.later
    noise, away = s2 * windows.inverse, z2 * windows.apart
    off = windows.chi_square * z2
    per_step = 2 * DRIFT * L**2 * eta**2 / np.maximum(m, 1)
    moved = per_step * (later * (noise + 8 * m[:, None] * away)).sum(axis=1)
    slope = (2.0 if z2 else 1.0) * 4 * DRIFT * m * (m - 1) * L**2 * eta**2
    moved = np.maximum(moved, slope * off)  # R: where it is below, |d_W + q|^2 would be bounded without its cross term
    ratio = np.sqrt(np.divide(off, moved, out=np.zeros_like(off), where=moved > 0))
    variance = (noise * (1 + 4 * CROSS * L * eta * later)).sum(axis=1) / np.maximum(m, 1) ** 2
    return Deviation(slope * (1 + ratio), (np.sqrt(off) + np.sqrt(moved)) ** 2, variance=variance)
