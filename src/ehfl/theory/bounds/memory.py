"""The bound for memory (MIFA): the mean of all clients' last gradients, of any age."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.theory.bounds.alike import Constants, check_eta, largest_step
from ehfl.theory.bounds.descent import Bound
from ehfl.theory.participants import checked_sets
from ehfl.validation import InvalidValue


@dataclass(frozen=True, eq=False, slots=True)
class Delays:
    """The ages of the clients' remembered gradients."""

    longest: int  # tau_max: rounds since a client's last turn, the largest over clients with a turn, and rounds
    had_turn: FloatArray  # h_t: share of the clients that took part in round t or before, (n_rounds,)


def delays_of(took_part: ArrayLike) -> Delays:
    """Return the delays of a participation, given as booleans (n_rounds, n_clients).

    >>> delays_of([[True, False], [False, True], [False, True]])
    Delays(longest=2, had_turn=array([0.5, 1. , 1. ]))
    """
    sets = checked_sets(took_part)
    rounds = np.arange(len(sets))[:, None]
    last = np.maximum.accumulate(np.where(sets, rounds, -1), axis=0)  # each client's last turn, -1 before any
    return Delays(int(np.where(last >= 0, rounds - last, 0).max()), (last >= 0).mean(axis=1))


def bound_memory(delays: Delays, eta: float, constants: Constants) -> Bound:
    """Return the bound for K = 1, exact gradients and one step size eta <= 1/(L (1 + tau_max)) (theorem G).

        sum_t eta h_t |g_t|^2 <= 2 Delta + eta (1 + tau_max) zeta^2 sum over rounds with 0 < h_t < 1 of (1 - h_t).

    After every client's first turn, zeta^2 has no effect. There is no floor for any rates, as long as delays grow more
    slowly than the number of rounds: with the largest step the bound falls as (1 + tau_max) / T. Gradient noise is not
    covered: the memory keeps it for many rounds, so that it is not independent of the model.
    """
    if constants.variance > 0:
        raise InvalidValue("variance", "0 (the theorem is for exact gradients)", constants.variance)
    limit = largest_step_with_memory(delays, constants.smoothness)
    check_eta(eta, limit, f"1/(L (1 + {delays.longest}))")
    weights = eta * delays.had_turn
    starting = (1 - delays.had_turn)[(delays.had_turn > 0) & (delays.had_turn < 1)].sum()
    cost = eta * (1 + delays.longest) * constants.heterogeneity * float(starting)
    total = float(weights.sum())
    return Bound((2 * constants.gap + cost) / total if total else math.inf, weights)


def largest_step_with_memory(delays: Delays, smoothness: float) -> float:
    """Return 1/(L (1 + tau_max)), the largest step size for which the bound is proven."""
    return largest_step(1, smoothness) / (1 + delays.longest)
