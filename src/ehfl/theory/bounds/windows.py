"""The bound for participants that take turns: it depends on how evenly clients take part over a window of rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.theory.bounds.alike import CROSS, DRIFT, Constants, check_eta, largest_step
from ehfl.theory.bounds.descent import Bound, Deviation, Rounds
from ehfl.theory.participants import checked_sets, chi_square_of
from ehfl.validation import whole_number


@dataclass(frozen=True, eq=False, slots=True)
class Windows:
    """All windows of one length, sums over each; a participation is cut into them in `length` ways.

    Shape (length - 1 + n_rounds,): window number i has the rounds from i - length + 1 on, as far as there are any.
    """

    length: int  # rounds of a window
    steps: FloatArray  # m: its rounds with participants
    chi_square: FloatArray  # N sum_i (c_i - 1/N)^2, c_i being what client i weighs in the window
    inverse: FloatArray  # sum over these rounds of 1/n
    inverse_later: FloatArray  # sum of 1/n times the number of such rounds that follow in the window
    apart_later: FloatArray  # sum of (N - n)/n times that number

    def largest_step(self, smoothness: float) -> float:
        """Return 1/(8 m L) for the largest m, and 1/L where that is one: the largest eta of theorem H."""
        return largest_step(max(int(self.steps.max()), 1), smoothness)


def windows_of(took_part: ArrayLike, window: int) -> Windows:
    """Return all windows of `window` rounds of a participation, booleans of shape (n_rounds, n_clients).

    >>> windows_of(np.eye(3, dtype=bool), 2).chi_square.tolist()  # one of three clients, two, two, one
    [2.0, 0.5, 0.5, 2.0]
    """
    sets, window = checked_sets(took_part), whole_number("window", window, low=1)
    rounds, clients = sets.shape
    window = min(window, rounds)
    n = np.pad(sets.sum(axis=1), window - 1)  # rounds before the first and after the last are empty
    held = n > 0
    own = np.divide(1.0, n, out=np.zeros(n.shape), where=held)  # 1/n
    apart = np.where(held, clients * own - 1, 0.0)  # (N - n)/n
    shares = np.pad(sets, ((window - 1, window - 1), (0, 0))) * own[:, None]
    found = rounds + window - 1
    steps, inverse, inverse_later, apart_later = np.zeros((4, found))
    weights = np.zeros((found, clients))
    for place in reversed(range(window)):  # in the window; `steps` then counts the rounds that follow
        here = slice(place, place + found)
        inverse_later += steps * own[here]
        apart_later += steps * apart[here]
        inverse += own[here]
        weights += shares[here]
        steps += held[here]
    weights /= np.maximum(steps, 1)[:, None]  # c_i
    return Windows(window, steps, chi_square_of(weights), inverse, inverse_later, apart_later)


def bound_windows(windows: Windows, eta: float, constants: Constants) -> Bound:
    """Return the bound for K = 1 and one step size, by windows of rounds (docs/theory.md, theorem H).

    A window with m rounds that have participants is one step of the lemma, made of m small ones. In it client i weighs
    c_i, the mean of 1{i in S}/|S| over these rounds, and

        |sum_i c_i grad f_i - grad f|^2 <= chi^2 zeta^2,   chi^2 = N sum_i (c_i - 1/N)^2,

    which is 0 if all clients took part equally often: cyclic turns have no floor. The cost is a drift over m steps, and
    eta <= 1/(8 m L), for m > 1. With windows of one round it is theorem C.

    Rounds can be cut into windows of `length` rounds in `length` ways. Each bounds the gradients at the first rounds of
    its windows; the mean over all ways, which is returned, bounds those of all rounds.

    >>> unlike = Constants(smoothness=1.0, variance=0.0, gap=1.0, heterogeneity=1.0)
    >>> by_turns = np.tile(np.eye(2, dtype=bool), (10_000, 1))
    >>> [round(bound_windows(windows_of(by_turns, rounds), 0.01, unlike).value, 2) for rounds in (1, 2)]
    [1.01, 0.01]
    """
    limit, m, length = windows.largest_step(constants.smoothness), windows.steps, windows.length
    check_eta(eta, limit, "1/L" if m.max() <= 1 else "1/(8 m L)")
    steps = Rounds(np.where(m > 0, eta, 0.0), m, constants.smoothness, _deviation(windows, eta, constants))
    found = steps.bound(length * constants.gap)  # the loss falls by the gap once in each of the ways
    # The first `length` windows all begin with x_0.
    return Bound(found.value, np.append(found.weights[:length].sum(), found.weights[length:]))


def _deviation(windows: Windows, eta: float, constants: Constants) -> Deviation:
    """Return a, r and s of each window; the rounds' own noise and distance count as often as rounds follow them."""
    L, s2, z2 = constants.smoothness, constants.variance, constants.heterogeneity
    m = windows.steps
    off = windows.chi_square * z2
    per_step = 2 * DRIFT * L**2 * eta**2 / np.maximum(m, 1)
    drifted = per_step * (s2 * windows.inverse_later + 8 * m * z2 * windows.apart_later)
    slope = (2.0 if z2 else 1.0) * 4 * DRIFT * m * (m - 1) * L**2 * eta**2
    drifted = np.maximum(
        drifted, slope * off
    )  # R: where it is below, |d_W + q|^2 would be bounded without its cross term
    ratio = np.sqrt(np.divide(off, drifted, out=np.zeros_like(off), where=drifted > 0))
    variance = s2 * (windows.inverse + 4 * CROSS * L * eta * windows.inverse_later) / np.maximum(m, 1) ** 2
    return Deviation(slope * (1 + ratio), (np.sqrt(off) + np.sqrt(drifted)) ** 2, variance=variance)
