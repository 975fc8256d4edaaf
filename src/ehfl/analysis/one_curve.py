"""B from curves: the noise scale at which two arms have one curve of the metric against progress.

It serves runs that logged no spread of their updates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ehfl.analysis.noise_scale import NoiseScale, resampled, scale_at
from ehfl.analysis.pairing import pairs
from ehfl.analysis.trials import Arm
from ehfl.arrays import FloatArray, IntArray
from ehfl.theory.noise_scale import worth

_FEWEST = 3  # evaluations of the slower arm that B is fitted to
_GRID = 31  # shares that are tried at once
_REFINED = 4  # times, each with a step 15 times as fine: shares are within 1e-6 of the best one


def mean_progress(arm: Arm, places: Sequence[int]) -> Callable[[float], FloatArray]:
    """Return the progress after 0, 1, ... rounds as a function of B, mean over the trials at these places."""
    counts, etas = arm.counts[list(places)], np.array([arm.trials[place].steps for place in places])
    return lambda noise_scale: np.append(0.0, (etas * worth(counts, noise_scale)).mean(axis=0).cumsum())


def along(curve_at: FloatArray, curve: FloatArray, at: FloatArray) -> FloatArray:
    """Return a curve between its points, monotone where they are; beyond its ends it is what it is there.

    >>> along(np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 4.0]), np.array([0.5, 3.0])).tolist()
    [1.0, 4.0]
    """
    from scipy.interpolate import PchipInterpolator  # takes as long to import as all of `analysis`

    moved = np.append(True, np.diff(curve_at) > 0)  # evaluations between which nobody took part are of one model
    xs, ys = curve_at[moved], curve[moved]
    if xs.size < 2:
        return np.full_like(at, curve[0])
    found: FloatArray = PchipInterpolator(xs, ys)(np.clip(at, xs[0], xs[-1]))
    return found


def from_curves(best: Arm, slower: Arm) -> NoiseScale | None:
    """Return the B for which the slower arm's first third lies on the best arm's curve of metric against progress.

    Curves are means over the seeds that pair the arms. The best arm's is interpolated monotonically (PCHIP: F. N.
    Fritsch and J. Butland, SIAM J. Sci. Stat. Comput. 5, 1984), and B makes the squares of what it leaves of the slower
    one's evaluations least. None where fewer than three of these lie within the best arm's curve.
    """
    common, third = pairs(best, slower), slower.rounds // 3
    if not common:
        return None
    used = _within(best, slower, third, common)
    if used.size < _FEWEST:
        return None
    participants = float(np.mean(best.counts[best.counts > 0]))

    def scale(chosen: list[int]) -> float:
        misfit = _misfit_of(best, slower, [common[place] for place in chosen], used)
        return scale_at(_least(lambda share: misfit(scale_at(share, participants))), participants)

    value, left_out = resampled(scale, [best.seeds[place] for place, _ in common])
    source = f"the first {third:,} rounds of {slower.name} beside {best.name}"
    return NoiseScale(value, left_out, participants, source, (best.name, slower.name), until=third)


def _within(best: Arm, slower: Arm, third: int, common: Sequence[tuple[int, int]]) -> IntArray:
    """Return which evaluations of the slower arm are used: those within the best arm's curve at B = 0.

    More noise takes more progress from the slower arm, so what lies before the curve there does so for every B.
    """
    mine, theirs = zip(*common, strict=True)
    curve_at = mean_progress(best, mine)(0.0)[best.evaluated]
    at = mean_progress(slower, theirs)(0.0)[slower.evaluated]
    inside = (at >= curve_at[0]) & (at <= curve_at[-1]) & (at > 0)
    return np.flatnonzero(inside & (slower.evaluated <= third))


def _misfit_of(best: Arm, slower: Arm, common: Sequence[tuple[int, int]], used: IntArray) -> Callable[[float], float]:
    """Return what the best arm's curve leaves of the slower arm's evaluations, mean square, as a function of B."""
    mine, theirs = (list(places) for places in zip(*common, strict=True))
    curve, wanted = best.metric[mine].mean(axis=0), slower.metric[theirs].mean(axis=0)[used]
    of_best, of_slower = mean_progress(best, mine), mean_progress(slower, theirs)
    curve_rounds, rounds = best.evaluated, slower.evaluated[used]

    def misfit(noise_scale: float) -> float:
        at, curve_at = of_slower(noise_scale)[rounds], of_best(noise_scale)[curve_rounds]
        return float(np.mean((along(curve_at, curve, at) - wanted) ** 2))

    return misfit


def _least(misfit: Callable[[float], float]) -> float:
    """Return where in [0, 1] a function is least, by ever finer grids: it may have several valleys, and kinks."""
    low, high, best = 0.0, 1.0, 0.0
    for _ in range(_REFINED + 1):
        tried = np.linspace(low, high, _GRID)
        at = int(np.argmin([misfit(share) for share in tried.tolist()]))
        low, best, high = (float(tried[min(max(at + step, 0), _GRID - 1)]) for step in (-1, 0, 1))
    return best
