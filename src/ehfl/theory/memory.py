"""The bound for memory (MIFA): the mean of everyone's last gradient, however old it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.theory.bounds import Constants, check_eta, largest_step
from ehfl.theory.counts import checked_turns
from ehfl.theory.descent import Bound
from ehfl.validation import InvalidValue, of_kind


@dataclass(frozen=True, eq=False, slots=True)
class Delays:
    """How old what is remembered of clients becomes."""

    longest: int  # tau_max: rounds since a client's last turn, the largest over clients that were heard, and rounds
    heard: FloatArray  # h_t: share of the clients that took part in round t or before, (n_rounds,)


def delays_of(took_part: ArrayLike) -> Delays:
    """Return the delays of a participation, given as who took part in which round, (n_rounds, n_clients).

    >>> delays_of([[True, False], [False, True], [False, True]])
    Delays(longest=2, heard=array([0.5, 1. , 1. ]))
    """
    turns = checked_turns(took_part)
    rounds = np.arange(len(turns))[:, None]
    last = np.maximum.accumulate(np.where(turns, rounds, -1), axis=0)  # each client's last turn, -1 before any
    return Delays(int(np.where(last >= 0, rounds - last, 0).max()), (last >= 0).mean(axis=1))


def bound_memory(delays: Delays, eta: float, constants: Constants) -> Bound:
    """Return the bound for K = 1, exact gradients and one step size eta <= 1/(L (1 + tau_max)) (theorem G).

        sum_t eta h_t |g_t|^2 <= 2 Delta + eta (1 + tau_max) zeta^2 sum over rounds with 0 < h_t < 1 of (1 - h_t).

    Once every client was heard zeta^2 plays no part. There is no floor, however rates differ, as long as delays do not
    grow as fast as the number of rounds: with the largest step the bound falls as (1 + tau_max) / T. Gradient noise is
    not covered: what is remembered carries it for many rounds, so that it is not independent of the model any more.
    """
    delays, constants = of_kind("delays", delays, Delays), of_kind("constants", constants, Constants)
    if constants.variance > 0:
        raise InvalidValue("variance", "0 (the theorem is for exact gradients)", constants.variance)
    limit = largest_step_with_memory(delays, constants.smoothness)
    check_eta(eta, limit, f"1/(L (1 + {delays.longest}))")
    weights = eta * delays.heard
    starting = (1 - delays.heard)[(delays.heard > 0) & (delays.heard < 1)].sum()
    cost = eta * (1 + delays.longest) * constants.heterogeneity * float(starting)
    total = float(weights.sum())
    return Bound((2 * constants.gap + cost) / total if total else math.inf, weights)


def largest_step_with_memory(delays: Delays, smoothness: float) -> float:
    """Return 1/(L (1 + tau_max)), the largest step size for which the bound is proven."""
    return largest_step(1, smoothness) / (1 + delays.longest)
