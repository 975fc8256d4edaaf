"""Summary statistics of a participation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import IntArray
from ehfl.theory.participants import chi_square_of
from ehfl.validation import whole_number

if TYPE_CHECKING:
    from ehfl.scheduling.participation import Participation


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of a participation; n_t is the number of participants of round t."""

    scheduler: str
    clients: int
    rounds: int
    target: int  # reference of the shortfall [clients per round]
    mean: float  # of n_t
    std: float  # of n_t over the rounds (divided by T)
    min: int
    max: int
    empty_rounds: int  # rounds with n_t = 0
    on_target: float  # share of rounds with n_t >= target
    worst_streak: int  # longest run of rounds with n_t < target
    shortfall: float  # mean of max(target - n_t, 0) [clients per round]
    waste: float  # share of the harvest that a full battery rejected
    lost: float  # share of all energy (initial and harvested) that charging, leaks and standing by took
    used: float  # share of all energy (initial and harvested) spent on rounds
    fairness: float  # Jain's index of turns per client: 1 when all are equal, 1/M when one takes all
    chi_square: float  # M sum_i (q_i - 1/M)^2 of the weights q_i in a plain mean of the participants; 0 when equal
    least_weight: float  # the smallest of them, in parts of 1/M; all are 0 where no client ever took part
    most_weight: float  # the largest

    def as_dict(self) -> dict[str, str | int | float]:
        """Return the figures by name, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        rows = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in self.as_dict().items()}
        return "\n".join(f"{name.replace('_', ' '):<13} {value}" for name, value in rows.items())


def summarise(played: Participation, target: int | None = None) -> Summary:
    """Return the figures; `target` defaults to the one that was played for."""
    counts, totals = played.counts, played.totals
    if target is None:
        target = played.target
    whole_number("target", target, low=1, high=played.n_clients)
    weights = played.weight_sums() / max(int(np.count_nonzero(counts)), 1)
    supply = totals.initial + totals.harvested
    return Summary(
        scheduler=played.scheduler,
        clients=played.n_clients,
        rounds=played.rounds,
        target=target,
        mean=float(counts.mean()),
        std=float(counts.std()),
        min=int(counts.min()),
        max=int(counts.max()),
        empty_rounds=int((counts == 0).sum()),
        on_target=float((counts >= target).mean()),
        worst_streak=longest_run(counts < target),
        shortfall=float(np.maximum(target - counts, 0).mean()),
        waste=totals.wasted / totals.harvested if totals.harvested else 0.0,
        lost=totals.lost / supply if supply else 0.0,
        used=totals.spent / supply if supply else 0.0,
        fairness=jain(played.turns()),
        chi_square=float(chi_square_of(weights)),
        least_weight=float(weights.min()) * played.n_clients,
        most_weight=float(weights.max()) * played.n_clients,
    )


def longest_run(flags: NDArray[np.bool_]) -> int:
    """Return the length of the longest run of set flags.

    >>> longest_run(np.array([True, False, True, True, False]))
    2
    """
    bounds = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False]))))  # where runs begin and end, in turn
    return int((bounds[1::2] - bounds[::2]).max(initial=0))


def jain(shares: IntArray) -> float:
    """Return Jain's fairness index (sum x)^2 / (n sum x^2), in [1/n, 1]; 1 where all are 0.

    R. Jain, D. Chiu and W. Hawe, DEC Research Report TR-301, 1984.

    >>> jain(np.array([1, 1, 1, 1])), jain(np.array([4, 0, 0, 0]))
    (1.0, 0.25)
    """
    shares = shares.astype(np.float64)
    squares = float(shares @ shares)
    return float(shares.sum()) ** 2 / (shares.size * squares) if squares else 1.0
