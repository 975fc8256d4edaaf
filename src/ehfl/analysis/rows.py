"""The figures of one arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ehfl.analysis.audit import weight_figures
from ehfl.analysis.pairing import final_difference, final_metric
from ehfl.analysis.served import served_figures
from ehfl.analysis.statistics import Difference, Estimate, estimate, holm
from ehfl.analysis.timing import energy_at, rounds_to, slowdown
from ehfl.analysis.trials import Arm
from ehfl.arrays import FloatArray
from ehfl.runs import Metric, Traffic

if TYPE_CHECKING:
    from ehfl.analysis.comparison import Comparison, World
    from ehfl.planning import Share

EXACT, BOUND = "exact", "an upper bound"  # what a share of the possible is a share of


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one arm, each a mean over its seeds."""

    arm: str
    seeds: int
    final: Estimate  # the metric after the last round
    difference: Difference | None  # of `final` to that of its world's first arm, pair by pair; None for that one
    area: Estimate  # the metric's mean over the rounds: area under the curve / rounds
    reached: int  # seeds that came to the goal
    rounds_to_goal: Estimate | None  # None unless every seed came to it
    energy_to_goal: Estimate | None  # in the comparison's unit
    participants: float  # mean of n_t
    participants_std: float
    participants_min: float
    empty_rounds: float
    shortfall: float  # mean of max(target - n_t, 0) [clients a round]
    waste: float  # share of the harvest
    fairness: float  # Jain's index of turns per client
    downloaded: float | None  # what turns sent to clients [MB]; None where that is not known
    uploaded: float | None  # and to the server [MB]
    # Rounds to the goal, relative to its world's best; None unless all were timed. Times, where arms' rounds differ in
    # length, here and in the noise limit: to the same bound, if gradient noise were all; infinite without any training.
    measured_slowdown: Estimate | None
    noise_limit: float
    # What clients weighed in a plain mean of the participants, over all seeds together, see `audit`.
    chi_square: Estimate | None = None  # None where no client ever took part
    least_weight: float = 0.0  # of the least heard client, in parts of 1/N
    most_weight: float = 0.0
    labels_moved: float | None = None  # share of the label mixture; None where labels are not known
    # Whom the last models serve, where the task has classes: accuracies, see `served`.
    worst_class: Estimate | None = None  # of the class that a run gets the least right of
    worst_class_name: str | None = None  # the class that is lowest, mean over seeds
    worst_class_difference: Difference | None = None  # of `worst_class` against the first arm's, pair by pair
    worst_tenth: Estimate | None = None  # of the tenth of the clients that a run serves worst
    client_spread: Estimate | None = None  # standard deviation over clients
    # Of fleets of real devices.
    time_to_goal: Estimate | None = None  # [s]; None unless rounds have a length and every seed came to the goal
    energy_spent: float | None = None  # on all rounds, all clients together [J]; None where quanta have no size
    lost: float = 0.0  # share of all energy that charging, leaks and standing by took
    # In parts of what any scheduler could have reached, see `possible`; None unless asked for, and on mains power.
    share_of_possible: Estimate | None = None  # of the largest mean of sqrt(n_t)
    share_of_lowest: Estimate | None = None  # of the largest min n_t
    possible: str | None = None  # what it is a share of: "exact", or "an upper bound", so that it is at least that


def row_of(arm: Arm, world: World, metric: Metric, goal: float) -> Row:
    """Return the figures of an arm, some of them relative to others of its world."""
    first, best = world.arms[0], next(other for other in world.arms if other.name == world.best)
    reached = rounds_to(goal, arm, metric)
    everyone = bool(np.isfinite(reached).all())
    summaries = [trial.participation.summary(min(world.target, trial.participation.n_clients)) for trial in arm.trials]

    def mean(field: str) -> float:
        return float(np.mean([getattr(summary, field) for summary in summaries]))

    return Row(
        arm=arm.name,
        seeds=len(arm.seeds),
        final=estimate(final_metric(arm)),
        difference=None if arm is first else final_difference(arm, first, final_metric),
        area=estimate(_area(arm)),
        reached=int(np.isfinite(reached).sum()),
        rounds_to_goal=estimate(reached) if everyone else None,
        energy_to_goal=estimate(energy_at(arm, reached)) if everyone else None,
        participants=mean("mean"),
        participants_std=mean("std"),
        participants_min=mean("min"),
        empty_rounds=mean("empty_rounds"),
        shortfall=mean("shortfall"),
        waste=mean("waste"),
        fairness=mean("fairness"),
        downloaded=_mean_sent(arm, Traffic.downloaded),
        uploaded=_mean_sent(arm, Traffic.uploaded),
        measured_slowdown=slowdown(arm, best, metric, goal) if len(world.arms) > 1 else None,
        noise_limit=world.noise_limits[arm.name],
        **weight_figures(arm),
        **served_figures(arm, first),
        time_to_goal=_time(arm, reached) if everyone else None,
        energy_spent=None if arm.trials[0].participation.quantum is None else float(np.mean(_spent(arm))),
        lost=mean("lost"),
    )


def correct_p_values(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with Holm's correction over all differences of a figure: the comparisons of a table's line."""
    corrected = list(rows)
    for name in ("difference", "worst_class_difference"):
        found = {place: getattr(row, name) for place, row in enumerate(rows)}
        p_values = {place: gap.p_value for place, gap in found.items() if gap and gap.p_value is not None}
        for place, p in zip(p_values, holm(list(p_values.values())), strict=True):
            corrected[place] = replace(corrected[place], **{name: replace(found[place], holm_p_value=p)})
    return corrected


def figures_of(rows: Sequence[Row]) -> list[str]:
    """Return the names of the rows' figures, without those that few rows have and none of these has."""
    absent = {name for name in _NOT_ALWAYS if not any(getattr(row, name) for row in rows)}
    return [field.name for field in fields(Row) if field.name not in absent]


_NOT_ALWAYS = (
    "time_to_goal",
    "energy_spent",
    "lost",
    "share_of_possible",
    "share_of_lowest",
    "possible",
)


def _time(arm: Arm, rounds: FloatArray) -> Estimate | None:
    return None if arm.round_length is None else estimate(arm.round_length * rounds)


def _spent(arm: Arm) -> list[float]:
    return [float(trial.spent[-1]) for trial in arm.trials]


def _mean_sent(arm: Arm, sent: Callable[[Traffic, int], float]) -> float | None:
    """Return what the turns of a run sent one way [MB], mean over seeds; None unless it is known of all."""
    traffic = arm.traffic
    return None if traffic is None else float(np.mean([sent(traffic, int(turns)) for turns in arm.counts.sum(axis=1)]))


def _area(arm: Arm) -> FloatArray:
    """Return the mean height of each seed's curve, (n_seeds,): a single evaluation stands for itself."""
    if arm.evaluated.size == 1:
        return arm.metric[:, 0]
    heights = (arm.metric[:, 1:] + arm.metric[:, :-1]) / 2
    area: FloatArray = heights @ np.diff(arm.evaluated) / np.ptp(arm.evaluated)
    return area


def with_shares(comparison: Comparison, shares: Mapping[str, Sequence[Share | None]]) -> Comparison:
    """Return the comparison with shares of what was possible, a seed each by arm; an arm that lacks one has none."""
    return replace(comparison, rows=tuple(_with_share(row, shares[row.arm]) for row in comparison.rows))


def _with_share(row: Row, shares: Sequence[Share | None]) -> Row:
    found = [share for share in shares if share is not None]
    if not found or len(found) < len(shares):
        return row
    return replace(
        row,
        share_of_possible=estimate([share.mean_sqrt for share in found]),
        share_of_lowest=estimate([share.least for share in found]),
        possible=EXACT if all(share.exact for share in found) else BOUND,
    )
