"""EnergyCycles: one turn in the time that its energy takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.randomness import MAX_ROUNDS, Purpose, word_row
from ehfl.scheduling.view import View
from ehfl.validation import UserError

_ROUNDING = 1e-9  # of a cost divided by a rate: 3 / 0.3 is ten rounds, not eleven


@dataclass(frozen=True, slots=True)
class EnergyCycles:
    """Client i has a turn in one round of every E_i, drawn uniformly, and it counts E_i times.

    E_i = cost / rate, rounded up: the rounds that the energy of one turn takes to come in.

    B. Guler and A. Yener, "Sustainable federated learning", arXiv 2102.11274 ("A framework for sustainable federated
    learning", WiOpt 2021): with P(i in S_t) = 1/E_i the weights make each step unbiased. There the energy of a cycle is
    there when the cycle begins, so everyone can pay when its round has come. Here it comes by chance: who cannot pay in
    its round waits for the first round of the same cycle in which it can, and has no turn if there is none. That keeps
    the paper's limit of one turn a cycle, and falls short of 1/E_i by what the weather denies: `ehfl audit` shows how
    much. Who harvests nothing has no turn. Weights need the aggregation `scheduled`. Cycles and weights are as others
    describe them: only the paper's abstract and introduction were at hand.
    """

    def select(self, view: View) -> IntArray:
        """Return those whose round has come in this cycle, who had no turn in it yet and can pay."""
        cycles = _cycles(view)
        begin = view.round - view.round % cycles
        due = begin + (_words(view, begin) * cycles >> np.int64(32))
        waits = (view.round >= due) & (view.last_turn < begin) & (cycles < MAX_ROUNDS)
        return view.able(np.flatnonzero(waits))

    def weights(self, view: View, clients: IntArray) -> FloatArray:
        """Return E_i."""
        return _cycles(view)[clients].astype(np.float64)


def _cycles(view: View) -> IntArray:
    """Return E_i in rounds, (n_clients,); MAX_ROUNDS for those who harvest nothing."""
    if view.rates is None:
        raise UserError("energy-cycles needs to know how much each client harvests: view.rates is None")
    longest = np.full(view.energy.size, float(MAX_ROUNDS))
    rounds = np.divide(view.cost, view.rates, out=longest, where=view.rates > 0)
    cycles: IntArray = np.clip(np.ceil(rounds - _ROUNDING), 1, MAX_ROUNDS).astype(np.int64)
    return cycles


def _words(view: View, begin: IntArray) -> IntArray:
    """Return a 32-bit number for each client, drawn in the round in which its cycle begins, (n_clients,)."""
    found = np.empty(begin.size, np.int64)
    for start in np.unique(begin).tolist():
        row = word_row(view.seed, Purpose.SCHEDULE, start, begin.size)
        found[begin == start] = row[begin == start]
    return found
