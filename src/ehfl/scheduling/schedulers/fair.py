"""Schedulers by past turns, OldestFirst, F3ast and EnergyCycles, and by past losses, PowerOfChoice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.randomness import MAX_ROUNDS, Purpose, word_row
from ehfl.scheduling.view import Auto, View, check_width
from ehfl.validation import InvalidValue, UserError, number_in


@dataclass(frozen=True, slots=True)
class OldestFirst:
    """Of those who can pay, the `target` whose last turn lies farthest back, ties at random.

    The age of a client's update is what it minimises: H. H. Yang, A. Arafa, T. Q. S. Quek and H. V. Poor, "Age-based
    scheduling policy for federated learning in mobile edge networks", ICASSP 2020, arXiv 1910.14648, with energy in the
    place of its radio channel. Clients without a turn come first.
    """

    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return the clients with the oldest turns that can pay."""
        able = view.able()
        return view.first(able, view.last_turn[able], view.width("target", self.target))


@dataclass(frozen=True, slots=True)
class F3ast:
    """Of the clients that can pay, the `target` with the lowest recent rates; weights are the inverse rates.

    r_i(t) = (1 - rate) r_i(t-1) + rate 1{i in S_t}; S_t maximises sum p_i^2 / r_i(t-1)^2; weight N p_i / r_i(t).

    M. Ribero, H. Vikalo and G. de Veciana, "Federated learning under intermittent client availability and time-varying
    communication constraints", IEEE JSTSP 2023, arXiv 2205.06730: the steepest way down for the variance that sampling
    adds, sum p_i^2 / r_i, with weights that keep the step unbiased once r_i is how often client i takes part. That
    weights are by r_i(t), with round t in it, is as in the authors' code (mriberodiaz/f3ast). Here all clients are to
    count alike, p_i = 1/N; clients that can pay are available; ties are broken at random; r_i(-1) = target/N, as if all
    had been chosen equally often, so that the first steps are as long as a mean's (the code begins with 1/N, and
    divides by the number of participants). `rate` is the paper's beta; the authors' 0.001 is for thousands of rounds.
    Weights need the aggregation `scheduled`.
    """

    target: int | Auto = "auto"
    rate: float = 0.01

    def __post_init__(self) -> None:
        check_width("target", self.target)
        number_in("rate", self.rate, "[1e-9, 1]")

    def select(self, view: View) -> IntArray:
        """Return the clients with the lowest recent rates that can pay."""
        able = view.able()
        return view.first(able, self._rates(view)[able], view.width("target", self.target))

    def weights(self, view: View, clients: IntArray) -> FloatArray:
        """Return 1 / r_i, including this round."""
        return 1 / ((1 - self.rate) * self._rates(view)[clients] + self.rate)

    def _rates(self, view: View) -> FloatArray:
        """Return r_i(t-1), (n_clients,)."""
        begun = view.width("target", self.target) / view.energy.size
        return (1 - self.rate) ** view.round * begun + view.recent(self.rate)


_ROUNDING = 1e-9  # of a cost divided by a rate: 3 / 0.3 is ten rounds, not eleven


@dataclass(frozen=True, slots=True)
class EnergyCycles:
    """Client i has a turn in one round of every E_i, drawn uniformly, and it counts E_i times.

    E_i = cost / rate, rounded up: the rounds that the energy of one turn takes to come in.

    B. Guler and A. Yener, "Sustainable federated learning", arXiv 2102.11274 ("A framework for sustainable federated
    learning", WiOpt 2021): with P(i in S_t) = 1/E_i the weights make each step unbiased. In the paper the energy of a
    cycle is available when the cycle begins, so every client can pay in its round. Here harvests are random: a client
    that cannot pay in its round waits for the first round of the same cycle in which it can, and otherwise loses its
    turn. This keeps the paper's limit of one turn per cycle, but the rate falls below 1/E_i when energy is missing;
    `ehfl audit` shows by how much. A client without harvest has no turn. Weights need the aggregation `scheduled`. The
    implementation follows secondary descriptions and the paper's abstract and introduction.
    """

    def select(self, view: View) -> IntArray:
        """Return the clients that can pay, whose round in this cycle has come, and that had no turn in it yet."""
        cycles = _cycles(view)
        begin = view.round - view.round % cycles
        due = begin + (_words(view, begin) * cycles >> np.int64(32))
        waits = (view.round >= due) & (view.last_turn < begin) & (cycles < MAX_ROUNDS)
        return view.able(np.flatnonzero(waits))

    def weights(self, view: View, clients: IntArray) -> FloatArray:
        """Return E_i."""
        return _cycles(view)[clients].astype(np.float64)


def _cycles(view: View) -> IntArray:
    """Return E_i in rounds, (n_clients,); MAX_ROUNDS for clients without harvest."""
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


@dataclass(frozen=True, slots=True)
class PowerOfChoice:
    """`candidates` drawn uniformly from those who can pay, then the `target` of them with the largest losses.

    Y. J. Cho, J. Wang and G. Joshi, "Client selection in federated learning: convergence analysis and power-of-choice
    selection strategies", arXiv 2010.01243, in its variant that costs no messages (rpow-d): a client's loss is that of
    its last turn, and infinite before its first. "auto" is twice the target, the paper's usual choice of d. The paper
    draws candidates in proportion to their data; here they are drawn uniformly.
    """

    wants_losses: ClassVar[bool] = True
    target: int | Auto = "auto"
    candidates: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)
        check_width("candidates", self.candidates, low=1 if self.target == "auto" else self.target)

    def select(self, view: View) -> IntArray:
        """Return the candidates with the largest last losses."""
        width = view.width("target", self.target)
        wanted = 2 * width if self.candidates == "auto" else view.width("candidates", self.candidates)
        if wanted < width:
            raise InvalidValue("candidates", f"at least the target ({width})", wanted)
        drawn = view.generator().permutation(view.able())[:wanted]
        known = np.full(view.energy.size, np.nan) if view.losses is None else view.losses
        losses = np.where(np.isnan(known), np.inf, known)[drawn]
        return view.first(drawn, -losses, width)
