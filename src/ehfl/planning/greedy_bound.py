"""A bound on what any scheduler could have reached that takes as long as playing Greedy once."""

from __future__ import annotations

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy import Fleet, Ledger


def greedy_bound(fleet: Fleet, rounds: int, seed: int, first: int | None = None) -> tuple[FloatArray, int]:
    """Return the most even n_t with no more turns by any round than Greedy has had, and the round that it begins with.

    Whoever takes part whenever it can is never behind: with k turns more than by another schedule and level E' against
    its E, E' + cost k >= E holds in every round. It does at first; it still does after a turn of either; and harvests,
    full batteries, leaks and standing by keep the order of levels and bring them no further apart. So k >= 0, and

        n_first + ... + n_t <= turns of Greedy until t,   for any schedule, any costs and any losses.

    Of all n_t >= 0 for which that is so, the slopes of the largest convex function below Greedy's turns are majorised
    by all others with as large a sum, so that they bound min n_t and the mean of any concave function of n_t.

    >>> from ehfl.energy import Replay
    >>> greedy_bound(Fleet(clients=2, harvest=Replay([[1, 1], [0, 0], [1, 0], [0, 0]])), rounds=4, seed=0)
    (array([0., 1., 1., 1.]), 1)
    """
    ledger, nobody = Ledger(fleet, rounds, seed), np.empty(0, np.int64)
    begin = rounds if first is None else first
    counts = np.zeros(rounds, np.int64)
    for t in range(rounds):
        able = np.flatnonzero(ledger.energy >= fleet.costs)
        if first is None and able.size:
            begin = min(begin, t)
        playing = able if t >= begin else nobody
        counts[t] = playing.size
        ledger.settle(t, playing)
    return np.append(np.zeros(begin), _slopes(counts[begin:])), begin


def _slopes(steps: IntArray) -> FloatArray:
    """Return the steps of the largest convex function below the sums of these, and as large at both ends.

    >>> _slopes(np.array([3, 1, 0, 4, 6])).tolist()
    [1.3333333333333333, 1.3333333333333333, 1.3333333333333333, 4.0, 6.0]
    """
    means: list[float] = []  # of runs of steps that are averaged, rising
    lengths: list[int] = []
    for step in steps.tolist():
        mean, length = float(step), 1
        while means and means[-1] >= mean:
            mean = (mean * length + means[-1] * lengths[-1]) / (length + lengths[-1])
            length += lengths.pop()
            means.pop()
        means.append(mean)
        lengths.append(length)
    return np.repeat(means, lengths)
