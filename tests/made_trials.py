"""Trials and comparisons made by hand: who took part, which steps were taken, what evaluations said. No training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ehfl.experiment import Comparison, Goal, Metric, Trial, compare
from ehfl.history import Record
from ehfl.scheduling import Participation
from ehfl.scheduling.participation import EnergyTotals
from ehfl.theory import Constants


def made_participation(
    counts: Sequence[int], clients: int = 10, *, recorded: bool = False, mains: bool = False
) -> Participation:
    """The first n_t clients take part in round t; half of what was harvested besides was wasted."""
    units = sum(counts)
    return Participation(
        n_clients=clients,
        offsets=np.cumsum([0, *counts], dtype=np.int32),
        indices=np.concatenate([np.arange(n, dtype=np.int32) for n in counts]),
        final_energy=np.zeros(clients, np.int32),
        totals=EnergyTotals(0, 2 * units, 0 if mains else units, 0, units, units if mains else 0),
        sustainable=1,
        policy="ByHand()",
        seed=0,
        energy=np.full((len(counts) + 1, clients), 2, dtype=np.int32) if recorded else None,
    )


def made_trial(
    arm: str,
    seed: int,
    evaluations: Mapping[int, float] | Sequence[float],
    counts: Sequence[int] = (1, 1, 1, 1),
    steps: Sequence[float] | float = 0.1,
    cost: int = 1,
    clients: int = 10,
    **options: bool,
) -> Trial:
    """A trial whose metric after so many rounds (or after each) is as given; its test loss is 1 less the metric."""
    metrics = evaluations if isinstance(evaluations, Mapping) else dict(enumerate(evaluations, start=1))
    etas = [steps] * len(counts) if isinstance(steps, float) else list(steps)
    records = [
        Record(t, n, eta if n else 0.0, 0.5 if n else None, _less(metrics.get(t + 1)), metrics.get(t + 1))
        for t, (n, eta) in enumerate(zip(counts, etas, strict=True))
    ]
    return Trial(arm, seed, made_participation(counts, clients, **options), records, cost)


def _less(metric: float | None) -> float | None:
    return None if metric is None else 1 - metric


def two_arms(goal: float = 0.5, *, seeds: int = 2, metric: str = "accuracy", recorded: bool = True) -> Comparison:
    """Return greedy against myopic: finals 0.8 and 0.9 against 0.9 and 0.92, with energy 5 or 6 and 6."""
    runs = [
        ("greedy", 0, [0.2, 0.4, 0.8], [1, 3, 1]),
        ("greedy", 1, [0.1, 0.5, 0.9], [0, 4, 2]),
        ("myopic", 0, [0.4, 0.6, 0.9], [2, 2, 2]),
        ("myopic", 1, [0.3, 0.7, 0.92], [2, 2, 2]),
    ]
    trials = [made_trial(arm, seed, curve, counts, clients=4, recorded=recorded) for arm, seed, curve, counts in runs]
    return compare("made", [trial for trial in trials if trial.seed < seeds], Metric(metric), target=2, goal=goal)


def arms_ending_at(
    finals: Mapping[str, Sequence[float]],
    *,
    name: str = "small",
    metric: Metric | None = None,
    counts: Mapping[str, Sequence[int]] | None = None,
    goal: Goal = "auto",
    constants: Constants | None = None,
) -> Comparison:
    """Return arms whose metric goes straight to these final values, one a seed, in eight rounds."""
    trials = [
        made_trial(arm, seed, {t: final * t / 8 for t in (2, 4, 6, 8)}, (counts or {}).get(arm, [3] * 8), clients=6)
        for arm, mine in finals.items()
        for seed, final in enumerate(mine)
    ]
    known = [replace(trial, constants=constants) for trial in trials]
    return compare(name, known, metric or Metric("accuracy"), target=3, goal=goal)
