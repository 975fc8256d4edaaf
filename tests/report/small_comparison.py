"""A Comparison without training: curves and participants are given, everything else follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ehfl.experiment import Comparison, Goal, Metric, Trial, compare
from ehfl.history import Record
from ehfl.scheduling.participation import EnergyTotals, Participation
from ehfl.theory import Constants

CLIENTS = 6
EVERY = 2  # rounds between evaluations


def small_comparison(
    finals: Mapping[str, Sequence[float]],
    *,
    name: str = "small",
    metric: Metric | None = None,
    counts: Mapping[str, Sequence[int]] | None = None,
    goal: Goal = "auto",
    constants: Constants | None = None,
) -> Comparison:
    """Return arms whose metric rises (or falls) straight to these final values, one a seed, in eight rounds."""
    trials = [
        _trial(arm, seed, final, (counts or {}).get(arm, [3] * 8))
        for arm, mine in finals.items()
        for seed, final in enumerate(mine)
    ]
    return compare(name, trials, metric or Metric("accuracy"), target=3, goal=goal, constants=constants)


def _trial(arm: str, seed: int, final: float, counts: Sequence[int]) -> Trial:
    rounds = len(counts)
    records = [
        Record(
            round=t,
            participants=n,
            step_size=0.1,
            train_loss=None,
            test_loss=2.0 - final * (t + 1) / rounds if (t + 1) % EVERY == 0 else None,
            test_metric=final * (t + 1) / rounds if (t + 1) % EVERY == 0 else None,
        )
        for t, n in enumerate(counts)
    ]
    return Trial(arm, seed, _participation(arm, seed, counts), records)


def _participation(arm: str, seed: int, counts: Sequence[int]) -> Participation:
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    spent = int(offsets[-1])
    return Participation(
        n_clients=CLIENTS,
        offsets=offsets,
        indices=np.concatenate([np.arange(n, dtype=np.int32) for n in counts]),
        final_energy=np.zeros(CLIENTS, dtype=np.int32),
        totals=EnergyTotals(initial=0, harvested=spent + 2, spent=spent, stored=0, wasted=2, mains=0),
        sustainable=3,
        policy=arm,
        seed=seed,
    )
