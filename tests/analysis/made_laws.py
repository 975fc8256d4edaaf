"""Trials that follow the noise-scale law exactly, or but for noise that is known. Nobody trained them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ehfl.analysis import Arm, Trial
from ehfl.theory import progress
from made_trials import made_trial

ETA = 0.1


def lawful_trial(
    arm: str,
    seed: int,
    counts: Sequence[int],
    noise_scale: float,
    phi: Callable[[float], float],
    *,
    every: int = 1,
    clients: int = 10,
    noise: float = 0.0,
) -> Trial:
    """A trial whose metric after each `every` rounds is phi of its progress, plus noise of this standard deviation."""
    made = progress(counts, [ETA] * len(counts), noise_scale)
    jitter = noise * np.random.default_rng([seed, sum(counts)]).standard_normal(made.size)
    evaluations = {t: phi(float(made[t])) + float(jitter[t]) for t in range(0, len(counts) + 1, every)}
    return made_trial(arm, seed, evaluations, counts, ETA, clients=clients)


def lawful_arm(
    name: str, counts: Sequence[int], noise_scale: float, phi: Callable[[float], float], *, seeds: int = 1,
    every: int = 1, noise: float = 0.0,
) -> Arm:  # fmt: skip
    """An arm of such trials."""
    trials = (lawful_trial(name, seed, counts, noise_scale, phi, every=every, noise=noise) for seed in range(seeds))
    return Arm(name, tuple(trials))


def logged(trial: Trial, squares: Sequence[float], spreads: Sequence[float | None], losses: Sequence[float]) -> Trial:
    """The trial, with these squares of its mean updates, spreads of updates and losses at x_t."""
    records = [
        replace(record, update_square=square, update_spread=spread, start_loss=loss)
        for record, square, spread, loss in zip(trial.records, squares, spreads, losses, strict=True)
    ]
    return replace(trial, records=records)
