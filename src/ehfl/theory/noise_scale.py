"""The noise-scale law: the value of a round as a function of its number of participants.

At its own best step a round with n participants is worth 1 / (1 + B/n) of one without noise, and nothing with n = 0. B
is the noise scale, in clients: at n = B noise costs half of the round (S. McCandlish, J. Kaplan, D. Amodei et al., "An
empirical model of large-batch training", arXiv 1812.06162). Plans use it for its two ends, B = 0 and B = inf. It does
not forecast training at a common step (docs/theory.md, "No forecast").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, IntArray
from ehfl.validation import number_in

_SCALES = "[0, inf]"


def worth(participants: ArrayLike, noise_scale: float) -> FloatArray:
    """Return the value of rounds with n participants, 1 / (1 + B/n), elementwise; 0 for n = 0.

    B = 0 counts rounds that are not empty. At B = inf all rounds are worth nothing beside one without noise; what is
    returned there is n, the limit of B / (1 + B/n), since only ratios are used.

    >>> worth([0, 1, 3], 1.0).tolist(), worth([0, 1, 3], 0.0).tolist(), worth([0, 1, 3], np.inf).tolist()
    ([0.0, 0.5, 0.75], [0.0, 1.0, 1.0], [0.0, 1.0, 3.0])
    """
    B = number_in("noise_scale", noise_scale, _SCALES)
    n = np.asarray(participants, dtype=np.float64)
    return n if np.isinf(B) else np.divide(n, n + B, out=np.zeros_like(n), where=n > 0)


def slowdown(counts: IntArray, clients: int, noise_scale: float) -> float:
    """Return the rounds needed for each round with `clients` on mains power; infinite where no client takes part.

    It is 1 / (1 + B/clients) divided by the mean of 1 / (1 + B/n_t).

    >>> counts = np.array([2, 4, 0, 2])
    >>> slowdown(counts, 4, 0.0), slowdown(counts, 4, np.inf), round(slowdown(counts, 4, 2.0), 3)
    (1.3333333333333333, 2.0, 1.6)
    """
    return slowdowns(counts, clients, [noise_scale])[0]


def slowdowns(counts: IntArray, clients: int, noise_scales: ArrayLike) -> list[float]:
    """Return the slowdown at each of several noise scales: rounds with as many participants are put together first.

    >>> slowdowns(np.array([1, 1, 2]), 2, [0.0, np.inf])
    [1.0, 1.5]
    """
    often = np.bincount(counts.ravel())
    n = np.arange(often.size)
    found = []
    for B in np.asarray(noise_scales, dtype=np.float64).tolist():
        mean = float(worth(n, B) @ often) / float(often.sum())
        found.append(float(worth(clients, B)) / mean if mean else float("inf"))
    return found
