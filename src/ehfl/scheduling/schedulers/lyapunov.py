"""Lyapunov: drift plus penalty on the energy queues."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.scheduling.view import Auto, View
from ehfl.validation import InvalidValue, is_number, is_word

_ENDLESS = 20.0  # rounds that an infinite battery is asked to hold by "auto"
_ROUNDING = 1e-9  # of levels less thresholds: where both sides are equal a client takes part


@dataclass(frozen=True, slots=True)
class Lyapunov:
    """The participants that maximise V sqrt(n) + sum over them of (e_i - theta_i), e_i = E_i / cost_i.

    L. Huang and M. J. Neely, "Utility optimal scheduling in energy-harvesting networks", IEEE/ACM ToN 21(4), 2013,
    arXiv 1012.1945 (ESA), with the long-run mean of sqrt(n_t) for a utility: concave, so that steady rounds are worth
    more than rich and poor ones with the same mean. Queues are counted in rounds, so it is free of units. With
    L = (1/2) sum (e_i - theta_i)^2, e_i(t+1) <= e_i - 1{i in N_t} + a_i and a constant B,

        L(t+1) - L(t) - V sqrt(n_t) <= B + sum (e_i - theta_i) a_i - [V sqrt(n_t) + sum_{i in N_t} (e_i - theta_i)],

    and each round the bracket is made as large as can be, over those who can pay. For a given n its best set are the n
    largest e_i - theta_i, and what the n-th adds, V (sqrt(n) - sqrt(n-1)) + (e_i - theta_i), falls with n. So they are
    taken in this order while it is not negative, which is exact.

    theta_i = min(1 + V, capacity_i / cost_i). With the former, as in the paper, who cannot pay would not be picked
    either (its e_i is below 1), and the rule reads: the n-th richest takes part if that leaves it at least
    V (1 - sqrt(n) + sqrt(n-1)) rounds. The latter is for batteries that cannot hold as much; there it must be asked
    who can pay, as is done always. Harvest is never refused, as ESA does above theta; a full battery wastes it.

    V = 0 is Greedy, and so is a V that dwarfs the batteries. The larger V, up to the latter, the nearer to the optimum
    and the longer until the queues have filled. "auto" is sqrt(target) times the median battery in rounds, an infinite
    one counting as 20: then `target` clients a round are taken when batteries are about half full, fewer below.
    """

    v: float | Auto = "auto"

    def __post_init__(self) -> None:
        if not is_word(self.v, "auto") and not (is_number(self.v) and 0 <= self.v <= 1e9):
            raise InvalidValue("v", "auto or a number in [0, 1e9]", self.v)

    def select(self, view: View) -> IntArray:
        """Return the best set: the richest, while each is worth its energy."""
        v, room = self._scale(view)
        gain = np.where(view.energy >= view.cost, view.rounds_left - np.minimum(1 + v, room), -math.inf)
        falling = np.sort(gain)[::-1]
        roots = np.sqrt(np.arange(falling.size + 1.0))
        worth = falling + v * np.diff(roots) >= -_ROUNDING * (1 + v)
        return view.largest(gain, int(worth.sum()))

    def _scale(self, view: View) -> tuple[float, FloatArray]:
        """Return V and what each battery holds in rounds, (n_clients,)."""
        room = np.broadcast_to(np.divide(view.capacity, view.cost), view.energy.shape)
        if self.v != "auto":
            return self.v, room
        room = np.minimum(room, _ENDLESS)
        return math.sqrt(view.target) * float(np.median(room)), room
