"""Comparisons made by hand of fleets whose quanta and rounds have a size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ehfl.analysis import Comparison, Trial, compare
from ehfl.energy import EnergyTotals
from made_trials import ACCURACY, made_trial

HOUR = 3600.0


def in_joules(trial: Trial, quantum: float = 0.5, round_length: float = HOUR, *, lost: int = 0) -> Trial:
    """Return the trial with quanta and rounds of this size, and so many quanta that were harvested and lost besides."""
    played, had = trial.participation, trial.participation.totals
    totals = EnergyTotals(had.initial, had.harvested + lost, had.spent, had.stored, had.wasted, had.mains, lost)
    return replace(
        trial, participation=replace(played, quantum=quantum, round_length=round_length, unit="0.5 J", totals=totals)
    )


def hours_and_joules(*, lost: Mapping[str, int] | None = None) -> Comparison:
    """Return greedy against myopic, hourly rounds that cost 4,000 and 2,000 quanta of 0.5 J a turn, two seeds.

    The goal is 0.5: greedy gets there after 2.25 and 2 rounds, myopic after 1.5 and 1.5.
    """
    runs: Sequence[tuple[str, int, list[float], list[int], int]] = [
        ("greedy", 0, [0.2, 0.4, 0.8], [1, 3, 1], 4000),
        ("greedy", 1, [0.1, 0.5, 0.9], [0, 4, 2], 4000),
        ("myopic", 0, [0.4, 0.6, 0.9], [2, 2, 2], 2000),
        ("myopic", 1, [0.3, 0.7, 0.92], [2, 2, 2], 2000),
    ]
    trials = [
        in_joules(
            made_trial(arm, seed, curve, counts, clients=4, recorded=True, cost=cost), lost=(lost or {}).get(arm, 0)
        )
        for arm, seed, curve, counts, cost in runs
    ]
    return compare("made", trials, ACCURACY, target=2, goal=0.5)


def two_lengths() -> Comparison:
    """Return four rounds of an hour against two of two, both straight from 0 to 0.8 in four hours; the goal is 0.4."""
    ends = {"short": (4, HOUR), "long": (2, 2 * HOUR)}
    trials = [
        in_joules(
            made_trial(arm, seed, {t: 0.8 * t / n for t in range(n + 1)}, [2] * n, clients=4, recorded=True),
            round_length=length,
        )
        for arm, (n, length) in ends.items()
        for seed in (0, 1)
    ]
    return compare("lengths", trials, ACCURACY, target=2, goal=0.4)
