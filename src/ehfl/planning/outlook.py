"""What a scheduler would make of a fleet: participants through the rounds of several seeds, in figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.planning.clairvoyant import has_other_means
from ehfl.scheduling import Participation, Summary
from ehfl.theory.noise_scale import slowdown, slowdowns
from ehfl.validation import number_in

_SCALES = np.geomspace(1e-3, 1e3, 61)  # noise scales that are tried, in parts of the clients on mains power


@dataclass(frozen=True, eq=False, slots=True)
class SeedOutlook:
    """What a plan keeps of a participation: little enough to be sent from one process to another."""

    target: int  # clients wanted a round
    counts: IntArray  # n_t, (n_rounds,)
    turns: IntArray  # of each client, (n_clients,)
    summary: Summary
    other_means: bool = False  # as `Outlook` has it
    mains_powered: bool = False

    @staticmethod
    def of(played: Participation) -> SeedOutlook:
        """Return what is kept of a participation."""
        return SeedOutlook(played.target, played.counts, played.turns(), played.summary(),
                           other_means=has_other_means(played), mains_powered=played.mains_powered)  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Outlook:
    """Rounds that were played for a plan, seed by seed; all seeds have as many rounds and clients."""

    label: str  # of the scheduler
    target: int  # clients wanted a round
    counts: IntArray  # n_t, (n_seeds, n_rounds)
    turns: IntArray  # of each client, (n_seeds, n_clients)
    summaries: tuple[Summary, ...]  # a seed each
    other_means: bool = False  # whether it is on mains power or took fewer steps a turn: no optimum to go by
    mains_powered: bool = False  # a reference: it says nothing about what the harvest can sustain

    @staticmethod
    def of(label: str, played: Sequence[SeedOutlook]) -> Outlook:
        """Return the outlook of what was played under several seeds."""
        return Outlook(
            label,
            played[0].target,
            np.stack([one.counts for one in played]),
            np.stack([one.turns for one in played]),
            tuple(one.summary for one in played),
            any(one.other_means for one in played),
            any(one.mains_powered for one in played),
        )

    def on_target(self, clients: int | None = None) -> FloatArray:
        """Return the share of rounds with at least `clients` participants, by default the target, (n_seeds,)."""
        wanted = self.target if clients is None else clients
        shares: FloatArray = (self.counts >= wanted).mean(axis=1)
        return shares

    def count_on(self, share: float) -> int:
        """Return how many clients take part in at least this share of the rounds, all seeds together.

        >>> outlook = Outlook("greedy", 3, np.array([[0, 3, 3, 2, 3, 3, 3, 3, 3, 3]]), np.ones((1, 3), int), ())
        >>> outlook.count_on(0.9), outlook.count_on(0.8), outlook.count_on(1.0)
        (2, 3, 0)
        """
        return int(_counted_on(self.counts.reshape(1, -1), share)[0])

    def count_on_by_seed(self, share: float) -> FloatArray:
        """Return the same for each seed alone, (n_seeds,)."""
        return _counted_on(self.counts, share).astype(np.float64)

    @property
    def mean_root(self) -> float:
        """The mean of sqrt(n_t), which theory asks for: many clients, evenly."""
        return float(np.sqrt(self.counts).mean())

    def figure(self, name: str) -> FloatArray:
        """Return a figure of the summaries, (n_seeds,)."""
        return np.array([getattr(summary, name) for summary in self.summaries], dtype=np.float64)

    def slowdown(self, clients: int, noise_scale: float) -> float:
        """Return how many rounds are needed for each one of `clients` on mains power, all seeds together."""
        return slowdown(self.counts, clients, noise_scale)

    def slowdowns(self, clients: int) -> tuple[float, float]:
        """Return the least and the most of it over all noise scales, up to a few per mille.

        These are at B = 0 and B = inf where no round has more than `clients`; else they may lie between.
        """
        found = slowdowns(self.counts, clients, (0.0, *(clients * _SCALES), np.inf))
        return min(found), max(found)


def _counted_on(counts: IntArray, share: float) -> IntArray:
    """Return the most that this share of each row's numbers reach."""
    number_in("share", share, "[0, 1]")
    n_rounds = counts.shape[1]
    place = min(int(np.floor((1 - share) * n_rounds + 1e-9)), n_rounds - 1)
    least: IntArray = np.sort(counts, axis=1)[:, place]
    return least
