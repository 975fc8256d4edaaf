"""The noise scale B of the noise-scale law, in clients: what it is, how sure that is, and B from one arm alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ehfl.analysis.statistics import Estimate, jackknife
from ehfl.analysis.trials import Arm, Trial
from ehfl.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class NoiseScale:
    """B, and how far it rests on each seed.

    Intervals are jackknifed: B is computed again without each seed in turn, and so is whatever is made of it. That of B
    itself is taken of 1 / (1 + B/n) for a typical n, the share of an update's square that is no noise: it is closer to
    normal than B, and both of its ends have a B, 0 and infinity.
    """

    found: float  # chance may take it a little below 0
    left_out: Mapping[int, float]  # what it is without each of the seeds; empty where there is a single one
    participants: float  # a typical n
    source: str  # what it was made from, as sentences have it
    arms: tuple[str, ...]  # whose runs that were
    until: float = math.inf  # rounds of theirs that were used

    @property
    def value(self) -> float:
        """B, in [0, inf]."""
        return max(self.found, 0.0)

    @property
    def estimate(self) -> Estimate:
        """B with its 95 % interval, which may reach from 0 to infinity."""
        shares = [share_at(scale, self.participants) for scale in (self.found, *self.left_out.values())]
        share = jackknife(shares[0], shares[1:])
        ends = [None if end is None else scale_at(end, self.participants) for end in (share.high, share.low)]
        return Estimate(self.value, ends[0], ends[1], share.n)

    def forecast(self, of: Callable[[float, int | None], float]) -> Estimate:
        """Return what follows from B, with its interval; `of` is given B and the seed to leave out, if any."""
        left_out = [of(max(scale, 0.0), seed) for seed, scale in self.left_out.items()]
        return jackknife(of(self.value, None), left_out)


def share_at(scale: float, participants: float) -> float:
    """Return 1 / (1 + B/n).

    >>> share_at(5.0, 5.0), share_at(math.inf, 5.0)
    (0.5, 0.0)
    """
    return participants / (participants + scale)


def scale_at(share: float, participants: float) -> float:
    """Return the B of which 1 / (1 + B/n) is the share; what lies beyond 0 and 1 is B's end.

    >>> scale_at(0.5, 5.0), scale_at(-0.1, 5.0), scale_at(1.1, 5.0)
    (5.0, inf, 0.0)
    """
    return math.inf if share <= 0 else participants * max(1 / share - 1, 0.0)


def resampled(of: Callable[[list[int]], float], seeds: Sequence[int]) -> tuple[float, dict[int, float]]:
    """Return a figure of all seeds, by their places, and by seed the same without it, if there are several.

    >>> resampled(lambda places: float(sum(places)), [7, 8, 9])
    (3.0, {7: 3.0, 8: 2.0, 9: 1.0})
    """
    everyone = list(range(len(seeds)))
    left_out = {seed: of(everyone[:at] + everyone[at + 1 :]) for at, seed in enumerate(seeds) if len(seeds) > 1}
    return of(everyone), left_out


def from_updates(arm: Arm, until: FloatArray) -> NoiseScale | None:
    """Return B from one arm's updates and losses in the rounds before `until`, (n_seeds,); in all where that is NaN.

    With Q = |mean update|^2 and S = sum_i |update_i - mean|^2 / (n - 1), what updates have in common has the square
    Q - S/n in expectation. The mean of S over that of Q - S/n is B_0, the noise scale of the gradients: a ratio of
    means, since single rounds, in which Q - S/n may be negative, have none worth the name. Steps that are the best for
    each n would lose as much to noise as B_0 says. How much steps as they were taken lose is seen in the loss at x_t:
    the share E of the first order's decrease, sum of (Q - S/n) / (K eta), that the loss really fell by. For L-smooth
    functions E = 1 - k (1 + B_0/n) with k = L K eta / 2, and B = B_0 k / (1 - k) = B_0 (1 - E) / (E + B_0/n).
    None where too little was logged, or no round of some seed has two participants (docs/theory.md, "A forecast").
    """
    parts = [_sums(trial, end) for trial, end in zip(arm.trials, until, strict=True)]
    known = [found for found in parts if found is not None]
    if len(known) < len(parts):
        return None
    sums = np.array(known)  # (n_seeds, 6)
    value, left_out = resampled(lambda places: _scale(*sums[places].sum(axis=0).tolist()), arm.seeds)
    participants = float(sums[:, 5].sum() / sums[:, 4].sum())
    source = f"the updates and losses of {arm.name} alone, an orientation"
    return NoiseScale(value, left_out, participants, source, (arm.name,))


def _scale(noise: float, signal: float, dropped: float, first_order: float, rounds: float, turns: float) -> float:
    """Return B, given the sums of S, Q - S/n, 1 and n over rounds, and what the loss fell by, also to first order."""
    if signal <= 0 or first_order <= 0:
        return math.inf
    gradients, kept = noise / signal, min(max(dropped / first_order, 0.0), 2.0)  # E, which is at most 1 but for chance
    return gradients * (1 - kept) / (kept + gradients * rounds / turns)


def _sums(trial: Trial, until: float) -> tuple[float, ...] | None:
    """Return what `_scale` takes, of one run; None where too little was logged.

    Losses are of few minibatches, so means over a tenth of the rounds at either end are compared, of what the loss is
    and of what it would be to first order alike.
    """
    end = len(trial.records) if math.isnan(until) else math.ceil(until)
    logged = [record for record in trial.records[:end] if record.update_square is not None]
    spreads = [record.update_spread for record in logged if record.update_spread is not None]
    losses = np.array([record.start_loss for record in logged if record.start_loss is not None])
    if len(logged) < 2 or not spreads or losses.size < len(logged):
        return None
    n, square, eta = (np.array([getattr(one, name) for one in logged], dtype=float) for name in _LOGGED)
    spread = np.array([one.update_spread or np.mean(spreads) for one in logged])  # of one participant: as of others
    common = square - spread / n
    to_first_order = -np.append(0.0, common / (trial.local_steps * eta)).cumsum()[:-1]
    return (spread.sum(), common.sum(), _fell(losses), _fell(to_first_order), n.size, n.sum())


def _fell(losses: FloatArray) -> float:
    tenth = max(1, losses.size // 10)
    return float(losses[:tenth].mean() - losses[-tenth:].mean())


_LOGGED = ("participants", "update_square", "step_size")
