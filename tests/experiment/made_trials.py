"""Trials made by hand: who took part how often, which steps were taken, what evaluations said. Nothing is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ehfl.experiment import Trial
from ehfl.history import Record
from ehfl.scheduling import Participation
from ehfl.scheduling.participation import EnergyTotals


def made_participation(counts: Sequence[int], clients: int = 10) -> Participation:
    """The first n_t clients take part in round t; half of what was harvested besides was wasted."""
    spent = sum(counts)
    return Participation(
        n_clients=clients,
        offsets=np.cumsum([0, *counts], dtype=np.int32),
        indices=np.concatenate([np.arange(n, dtype=np.int32) for n in counts]),
        final_energy=np.zeros(clients, np.int32),
        totals=EnergyTotals(initial=0, harvested=2 * spent, spent=spent, stored=0, wasted=spent, mains=0),
        sustainable=1,
        policy="ByHand()",
        seed=0,
    )


def made_trial(
    arm: str,
    seed: int,
    evaluations: Mapping[int, float],
    counts: Sequence[int] = (1, 1, 1, 1),
    steps: Sequence[float] | float = 0.1,
    cost: int = 1,
    clients: int = 10,
) -> Trial:
    """A trial whose metric after so many rounds is as given; its test loss is 1 less the metric."""
    etas = [steps] * len(counts) if isinstance(steps, float) else list(steps)
    records = [
        Record(t, n, eta if n else 0.0, 0.5 if n else None, _less(evaluations.get(t + 1)), evaluations.get(t + 1))
        for t, (n, eta) in enumerate(zip(counts, etas, strict=True))
    ]
    return Trial(arm, seed, made_participation(counts, clients), records, cost)


def _less(metric: float | None) -> float | None:
    return None if metric is None else 1 - metric
