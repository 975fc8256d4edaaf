"""The bound for memory (MIFA): the mean of all clients' last gradients, of any age."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, IntArray
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
    return delays_of_turns(sets.sum(axis=1), np.nonzero(sets)[1], sets.shape[1])


def delays_of_turns(counts: IntArray, participants: IntArray, n_clients: int) -> Delays:
    """Return the delays where `participants` are those of all rounds in a row: a large fleet needs no table.

    A client's delay grows by one a round from its turn on, so it is longest just before its next turn, or at the end.
    """
    order = np.argsort(participants, kind="stable")
    clients, turns = participants[order], np.repeat(np.arange(counts.size), counts)[order]
    first = np.diff(clients, prepend=-1) != 0  # whether a turn is its client's first
    until = np.where(np.roll(first, -1), counts.size, np.roll(turns, -1))  # the client's next turn, or the end
    had_turn = np.cumsum(np.bincount(turns[first], minlength=counts.size)) / n_clients
    return Delays(int((until - turns - 1).max(initial=0)), had_turn)


def bound_memory(delays: Delays, eta: float, constants: Constants) -> Bound:
    """Return the bound for K = 1, exact gradients and one step size eta <= 1/(L (1 + tau_max)) (theorem G).

        sum_t eta h_t |g_t|^2 <= 2 Delta + eta (1 + tau_max) zeta^2 sum over rounds with 0 < h_t < 1 of (1 - h_t).

    After every client's first turn, zeta^2 has no effect. There is no floor, for any rates, if tau_max = o(T) and
    (1 + tau_max) sum (1 - h_t) = o(T): no client stays away for a share of all rounds, or comes only after one.
    Gradient noise is not covered: the memory keeps it for many rounds, so that it is not independent of the model.
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
