"""A comparison of two arms that can be followed by hand: two seeds, three rounds, no training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ehfl.experiment import Comparison, Metric, Trial, compare
from ehfl.history import Record
from ehfl.scheduling import Participation
from ehfl.scheduling.participation import EnergyTotals

CLIENTS = 4


def played(counts: Sequence[int], seed: int = 0, *, recorded: bool = True, mains: bool = False) -> Participation:
    """Return a participation in which the first n_t clients take part in round t, out of well-filled batteries."""
    indices = np.array([client for n in counts for client in range(n)], dtype=np.int32)
    units = int(sum(counts))
    return Participation(
        n_clients=CLIENTS,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        indices=indices,
        final_energy=np.zeros(CLIENTS, dtype=np.int32),
        totals=EnergyTotals(units, 10, 0 if mains else units, 7, 3, units if mains else 0),
        sustainable=2,
        policy="made",
        seed=seed,
        energy=np.full((len(counts) + 1, CLIENTS), 2, dtype=np.int32) if recorded else None,
    )


def trial(arm: str, seed: int, counts: Sequence[int], metrics: Sequence[float], **options: bool) -> Trial:
    """Return a run that was evaluated after every round; its loss is 1 - metric."""
    records = [
        Record(t, n, 0.1, train_loss=None, test_loss=1 - metric, test_metric=metric)
        for t, (n, metric) in enumerate(zip(counts, metrics, strict=True))
    ]
    return Trial(arm, seed, played(counts, seed, **options), records)


def small_comparison(
    goal: float = 0.5, *, seeds: int = 2, metric: str = "accuracy", recorded: bool = True
) -> Comparison:
    """Return greedy against myopic: finals 0.8 and 0.9 against 0.9 and 0.92, with energy 5 or 6 and 6."""
    trials = [
        trial("greedy", 0, [1, 3, 1], [0.2, 0.4, 0.8], recorded=recorded),
        trial("greedy", 1, [0, 4, 2], [0.1, 0.5, 0.9], recorded=recorded),
        trial("myopic", 0, [2, 2, 2], [0.4, 0.6, 0.9], recorded=recorded),
        trial("myopic", 1, [2, 2, 2], [0.3, 0.7, 0.92], recorded=recorded),
    ]
    return compare("made", [t for t in trials if t.seed < seeds], Metric(metric), target=2, goal=goal)
