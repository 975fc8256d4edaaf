"""Trials and comparisons made by hand: who took part, which steps were taken, what evaluations said. No training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ehfl.analysis import Comparison, Goal, Trial, compare
from ehfl.energy import EnergyTotals
from ehfl.runs import Metric, Record
from ehfl.scheduling import SCHEDULERS, Participation

ACCURACY = Metric("accuracy", bounds=(0, 1))
GAP = Metric("gap", lower_is_better=True)


def made_participation(
    counts: Sequence[int],
    clients: int = 10,
    *,
    cost: int = 1,
    recorded: bool = False,
    mains: bool = False,
    unit: str = "units",
) -> Participation:
    """The first n_t clients take part in round t; half of what was harvested besides was wasted."""
    spent = cost * np.array(counts, dtype=np.int64)
    total = int(spent.sum())
    return Participation(
        n_clients=clients,
        offsets=np.cumsum([0, *counts], dtype=np.int32),
        participants=np.concatenate([np.arange(n, dtype=np.int32) for n in counts]),
        spent=spent,
        final_energy=np.zeros(clients, np.int32),
        totals=EnergyTotals(0, 2 * total, 0 if mains else total, 0, total, total if mains else 0),
        target=1,
        scheduler="ByHand()",
        seed=0,
        mains_powered=mains,
        unit=unit,
        energy=np.full((len(counts) + 1, clients), 2, dtype=np.int32) if recorded else None,
    )


def made_trial(
    arm: str,
    seed: int,
    evaluations: Mapping[int, float] | Sequence[float],
    counts: Sequence[int] = (1, 1, 1, 1),
    steps: Sequence[float] | float = 0.1,
    *,
    cost: int = 1,
    clients: int = 10,
    recorded: bool = False,
    mains: bool = False,
    unit: str = "units",
) -> Trial:
    """A trial whose metric after so many rounds (or after each) is as given; its test loss is 1 less the metric.

    The metric after 0 rounds is x_0's. Its scheduler is the registered one of the arm's name, else the user's own.
    """
    metrics = evaluations if isinstance(evaluations, Mapping) else dict(enumerate(evaluations, start=1))
    etas = [steps] * len(counts) if isinstance(steps, float) else list(steps)
    records = [
        Record(t, n, eta if n else 0.0, 0.5 if n else None, _less(metrics.get(t + 1)), metrics.get(t + 1))
        for t, (n, eta) in enumerate(zip(counts, etas, strict=True))
    ]
    records[0] = replace(records[0], first_loss=_less(metrics.get(0)), first_metric=metrics.get(0))
    played = made_participation(counts, clients, cost=cost, recorded=recorded, mains=mains, unit=unit)
    return Trial(arm, seed, played, records, scheduler=arm if arm in SCHEDULERS.members else "")


def _less(metric: float | None) -> float | None:
    return None if metric is None else 1 - metric


def two_arms(
    goal: float = 0.5, *, seeds: int = 2, metric: Metric = ACCURACY, recorded: bool = True, unit: str = "units"
) -> Comparison:
    """Return greedy against myopic: finals 0.8 and 0.9 against 0.9 and 0.92, with energy 5 or 6 and 6."""
    runs = [
        ("greedy", 0, [0.2, 0.4, 0.8], [1, 3, 1]),
        ("greedy", 1, [0.1, 0.5, 0.9], [0, 4, 2]),
        ("myopic", 0, [0.4, 0.6, 0.9], [2, 2, 2]),
        ("myopic", 1, [0.3, 0.7, 0.92], [2, 2, 2]),
    ]
    trials = [
        made_trial(arm, seed, curve, counts, clients=4, recorded=recorded, unit=unit)
        for arm, seed, curve, counts in runs
    ]
    return compare("made", [trial for trial in trials if trial.seed < seeds], metric, target=2, goal=goal)


def trials_ending_at(
    finals: Mapping[str, Sequence[float]], counts: Mapping[str, Sequence[int]] | None = None
) -> list[Trial]:
    """Return the trials of arms whose metric goes straight to these final values, one a seed, in eight rounds."""
    return [
        made_trial(arm, seed, {t: final * t / 8 for t in (2, 4, 6, 8)}, (counts or {}).get(arm, [3] * 8), clients=6)
        for arm, mine in finals.items()
        for seed, final in enumerate(mine)
    ]


def arms_ending_at(
    finals: Mapping[str, Sequence[float]],
    *,
    name: str = "small",
    metric: Metric = ACCURACY,
    counts: Mapping[str, Sequence[int]] | None = None,
    goal: Goal = "auto",
) -> Comparison:
    """Return arms whose metric goes straight to these final values, one a seed, in eight rounds."""
    return compare(name, trials_ending_at(finals, counts), metric, target=3, goal=goal)


EQUAL, UNEQUAL = "Equal fleet", "Unequal fleet"
ENDED_AT = {
    f"{EQUAL}: myopic": [0.90, 0.92, 0.94],
    f"{EQUAL}: greedy": [0.91, 0.91, 0.94],
    f"{UNEQUAL}: greedy": [0.80, 0.821, 0.839],
    f"{UNEQUAL}: myopic": [0.81, 0.811, 0.839],
    f"{UNEQUAL}: greedy + MIFA": [0.90, 0.92, 0.94],
}


def two_worlds(finals: Mapping[str, Sequence[float]] = ENDED_AT, *, goal: Goal = "auto") -> Comparison:
    """Return arms of two fleets that met other weather and data, with 3 and 4 clients wanted a round."""
    trials = [
        replace(
            trial,
            weather=UNEQUAL if trial.arm.startswith(UNEQUAL) else EQUAL,
            data=UNEQUAL if trial.arm.startswith(UNEQUAL) else EQUAL,
            participation=replace(trial.participation, target=4 if trial.arm.startswith(UNEQUAL) else 3),
        )
        for trial in trials_ending_at(finals, {f"{UNEQUAL}: myopic": [4] * 8, f"{EQUAL}: greedy": [2, 4] * 4})
    ]
    return compare("two worlds", trials, ACCURACY, goal=goal)
