"""One lemma for all bounds: the gain and cost of a round, given the deviation of its step from the gradient.

A round moves the model by x' = x - eta K M. Each theorem bounds the deviation of the direction M from g = grad f(x) for
its clients, data and participation; the rest is this lemma (docs/theory.md, "One round").
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray

_LEAST_THETA = 1e-150
_MOST_PASSES = 60  # of the search for theta, which converges quadratically in a few


@dataclass(frozen=True, eq=False, slots=True)
class Deviation:
    """A bound on the deviation of a round's direction M from the gradient g; arrays (n_rounds,), or scalars.

    There is a u with E M = g - E u such that E|u|^2 <= bias_share |g|^2 + bias and
    E|M|^2 <= E|g - u|^2 + variance_share |g|^2 + variance.
    """

    bias_share: FloatArray | float = 0.0  # a
    bias: FloatArray | float = 0.0  # r [squared gradient norm]
    variance_share: FloatArray | float = 0.0  # v
    variance: FloatArray | float = 0.0  # s [squared gradient norm]


@dataclass(frozen=True, eq=False, slots=True)
class Bound:
    """A bound on sum_t w_t E|grad f(x_t)|^2 / sum_t w_t, and the weights w_t that it is on, shape (n_rounds,)."""

    value: float
    weights: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class Rounds:
    """The rounds in the lemma's sum: their step sizes, 0 if the model does not move, and their deviations."""

    eta_t: FloatArray  # (n_rounds,)
    local_steps: int | FloatArray  # K
    smoothness: float  # L
    deviation: Deviation

    def gain_and_cost(self, theta: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Return w_t and noise_t of E f(x') <= f(x) - w_t |g|^2 + noise_t, for any theta in (0, 1].

        With k = L K eta and c = (1 - k) / (2 theta) + k / 2,

            w = K eta (1 - k/2 - (1 - k) theta/2 - c a - (k/2) v),   noise = K eta (c r + (k/2) s).

        Where there is no bias (a = r = 0) theta may be 0.
        """
        a, r = self.deviation.bias_share, self.deviation.bias
        reach = self.local_steps * self.eta_t  # K eta
        k = self.smoothness * reach
        c = np.divide(1 - k, 2 * theta, out=np.zeros_like(k), where=np.asarray(theta) > 0) + k / 2
        gain = reach * (1 - k / 2 - (1 - k) * theta / 2 - c * a - k / 2 * self.deviation.variance_share)
        return gain, reach * (c * r + k / 2 * self.deviation.variance)

    def theta(self, value: float) -> FloatArray:
        """Return the theta that makes value * w_t - noise_t largest in each round: sqrt(a + r / value), at most 1."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            bias = np.asarray(self.deviation.bias) / value
        best = np.minimum(np.sqrt(self.deviation.bias_share + np.nan_to_num(bias) + 0 * self.eta_t), 1.0)
        # an infinite value, or rounding, may give 0, which is allowed only without bias
        return np.where(np.asarray(self.deviation.bias) > 0, np.maximum(best, _LEAST_THETA), best)

    def bound(self, gap: float, chance: float = 1.0) -> Bound:
        """Return (Delta + sum noise_t) / sum w_t with the theta of each round that makes it smallest.

        `chance` is the probability that a round takes place; it scales gain and cost.

        The least ratio b is where max over theta of sum_t (b w_t - noise_t) is Delta; Dinkelbach's iteration puts the
        ratio found so far in the place of b (W. Dinkelbach, Management Science 13, 1967). Every pass is a bound.
        Infinite where a round would have a negative weight, or none has a weight at all.
        """
        found = self._ratio(gap, chance, np.ones_like(self.eta_t))
        for _ in range(_MOST_PASSES):
            better = self._ratio(gap, chance, self.theta(found.value))
            if not better.value < found.value * (1 - 1e-15):
                break
            found = better
        return found

    def _ratio(self, gap: float, chance: float, theta: FloatArray) -> Bound:
        gain, cost = (chance * part for part in self.gain_and_cost(theta))
        total = float(gain.sum())
        sound = bool((gain >= 0).all()) and total > 0
        return Bound((gap + float(cost.sum())) / total if sound else math.inf, gain)
