"""Which part of an axis values take, in figures and on the page alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.history import Metric

# How far bands and the goal may widen an axis beyond the means, as a share of the means' range: bands of few seeds can
# be so wide that the means would look like one line.
STRETCH = 0.25
_SHRINKS = 30  # how many times the last difference a former one may be on a linear axis
LOSS = Metric("loss", lower_is_better=True)


def is_logarithmic(curves: Sequence[FloatArray], metric: Metric) -> bool:
    """Return whether an axis must be logarithmic to show the curves' last rounds; curves are (n_seeds, n_points).

    So it is where means over seeds span more than a factor of ten and none is zero; a share's axis is linear.

    >>> falling = np.array([[1.0, 0.1, 0.01], [1.2, 0.2, 0.02]])
    >>> is_logarithmic([falling], LOSS), is_logarithmic([falling], Metric("error rate", bounds=(0, 1)))
    (True, False)
    """
    means = np.concatenate([curve.mean(axis=0) for curve in curves])
    return not metric.is_share and bool(0 < means.min() < means.max() / 10)


def linear_within(gaps: Sequence[FloatArray]) -> float | None:
    """Return up to which difference an axis is linear, where beyond it must be logarithmic to show the last rounds.

    Differences of a loss that falls by powers of ten do so too: on a linear axis all but the first would be zero.
    None where a linear axis shows them all; gaps are (n_pairs, n_points).

    >>> linear_within([np.array([[3.0, -0.5, 0.02]])]), linear_within([np.array([[0.03, -0.05, 0.02]])])
    (0.01, None)
    """
    means = [np.abs(curve.mean(axis=0)) for curve in gaps]
    last = max((float(mean[-1]) for mean in means), default=0.0)
    highest = max((float(mean.max()) for mean in means), default=0.0)
    if last == 0 or highest < _SHRINKS * last:
        return None
    return float(f"1e{math.floor(math.log10(last))}")
