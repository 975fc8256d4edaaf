"""What a reader should see in each figure of a comparison, and what is left out of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ehfl.analysis import Comparison
from ehfl.analysis.compared_with import baselines, best_arms
from ehfl.analysis.difference_curves import difference_curves
from ehfl.analysis.numbers import value
from ehfl.analysis.served import common_classes
from ehfl.report import batteries, devices
from ehfl.report.classes import class_means, drawn_classes, is_accuracy, with_classes
from ehfl.report.phrases import counted, listed
from ehfl.report.rasters import say_cells
from ehfl.report.scales import linear_within
from ehfl.report.slowdown import measured


def say_rounds(comparison: Comparison) -> str:
    """Return the caption of the figure of learning curves."""
    metric = comparison.metric
    return (
        f"{metric.name.capitalize()} (left) and loss (right) on the test set against {_say_along(comparison)}; "
        f"{_say_lines(comparison)}. "
        f"{_say_goal(comparison)}"
    )


def _say_along(comparison: Comparison) -> str:
    clock = comparison.clock
    if clock.differs:
        return "time, since arms' rounds differ in length"
    return f"rounds and {clock.scale.unit}" if clock.is_known else "rounds"


def say_differences(comparison: Comparison) -> str:
    """Return the caption of the figure of differences to each world's first arm."""
    metric = comparison.metric
    better = "Below" if metric.lower_is_better else "Above"
    lines = "lines are single pairs, one seed each"
    if _most_seeds(comparison) > 1:
        lines = (
            "lines are means over pairs of runs that met the same, bands their 95 % t-intervals, each for its round "
            "alone; dots mark rounds where the interval leaves zero out"
        )
    unit = ", in points of a percent" if metric.is_share else ""
    return (
        f"{metric.name.capitalize()} on the test set less that of {baselines(comparison)}{unit}; {lines}. "
        f"{better} zero is better.{_say_shrinking(comparison)}{_say_alone(comparison)}"
    )


def _say_alone(comparison: Comparison) -> str:
    alone = [world.baseline for world in comparison.worlds if world not in comparison.contests]
    return _not_shown("since no other arm met the same", alone)


def _not_shown(why: str, names: Sequence[str]) -> str:
    return f" Not shown, {why}: {listed(names)}." if names else ""


def _say_shrinking(comparison: Comparison) -> str:
    level = linear_within([curve.gaps for curve in difference_curves(comparison)])
    return "" if level is None else f" The axis is linear within {level:g} of zero and logarithmic beyond."


def say_classes(comparison: Comparison) -> str:
    """Return the caption of the map of classes."""
    arms, names = with_classes(comparison), common_classes(comparison.arms)
    means = class_means(arms)
    untested = [name for name, lowest in zip(names, means.min(axis=1), strict=True) if np.isnan(lowest)]
    drawn, tested = len(drawn_classes(means)), len(names) - len(untested)
    seeds = max(len(arm.seeds) for arm in arms)
    over = f", mean over {seeds} seeds" if seeds > 1 else ""
    top = "; at the top, of all classes together" if is_accuracy(comparison) else ""
    worst = f" Shown are the {drawn} classes, of {tested}, that some arm serves worst." if drawn < tested else ""
    others = [arm.name for arm in comparison.arms if arm not in arms]
    return (
        f"Share of the test examples that the last model gets right, class by class [%]{over}{top}. The darker, the "
        f"fewer; framed: the lowest of each arm.{worst}{_not_shown('for want of test examples', untested)}"
        f"{_not_shown('for want of classes', others)}"
    )


def say_energy(comparison: Comparison) -> str:
    """Return the caption of the figure of learning against energy."""
    mains = [arm.name for arm in comparison.arms if arm.mains_powered]
    source = f" The energy of {listed(mains)} comes from the mains, not from batteries." if mains else ""
    metric = comparison.metric.name.capitalize()
    mean = ", mean over seeds" if _most_seeds(comparison) > 1 else ""
    return (
        f"{metric} on the test set against the energy that training had taken by each evaluation, "
        f"all clients together{mean}; {_say_lines(comparison)}.{source}"
    )


def say_participation(comparison: Comparison) -> str:
    """Return the caption of the figure of participants."""
    many = _most_seeds(comparison) > 1
    seeds = f" Dots are of {_first_seed(comparison)}, all else is over all seeds." if many else ""
    return (
        "Participants of each round (left) and how often each number of them occurred (right), with their mean and "
        f"standard deviation. Grey: the {_say_targets(comparison)} wanted a round.{seeds}"
    )


def _say_targets(comparison: Comparison) -> str:
    *others, last = dict.fromkeys(world.target for world in comparison.worlds)
    return "".join(f"{target:,} or " for target in others) + counted(last, "client")


def say_weights(comparison: Comparison) -> str:
    """Return the caption of the figure of what clients weigh."""
    labels = all(trial.labels is not None for arm in comparison.arms for trial in arm.trials)
    mixed = ", and below the share of each class in what such a mean optimises, beside its true share" if labels else ""
    ends = "; bars are 95 % t-intervals over seeds" if _most_seeds(comparison) > 1 else ""
    return (
        f"What each client weighs in a plain mean of the participants, whatever an arm aggregates by{ends}{mixed}. "
        "Arms in which the same clients took part are drawn once."
    )


def say_batteries(comparison: Comparison) -> str:
    """Return the caption of the figure of batteries."""
    drawn = batteries.on_batteries(comparison)
    mains = [arm.name for arm in comparison.arms if arm.mains_powered]
    other = [arm.name for arm in comparison.arms if arm not in drawn and not arm.mains_powered]
    reasons = [f"the energy of {listed(mains)} comes from the mains"] if mains else []
    reasons += [f"the levels of {listed(other)} were not recorded"] if other else []
    left_out = f" Not shown: {'; '.join(reasons)}." if reasons else ""
    cells = say_cells(batteries.shape(drawn[0]))
    means = f" Each cell is a mean over {cells}." if cells else ""
    if any(np.isnan(batteries.levels(arm)).any() for arm in drawn):
        means += " Grey: a device that did not answer, so that nobody knows its level."
    return (
        "The level of every client's battery at the start of every round and after the last, "
        f"with {_first_seed(comparison)}: the darkest colour is an empty battery.{means}{left_out}"
    )


def say_devices(comparison: Comparison) -> str:
    """Return the caption of the figure of devices."""
    drawn = devices.on_devices(comparison)
    other = [arm.name for arm in comparison.arms if arm not in drawn]
    shown = "How many devices" if any(map(devices.is_counted, drawn)) else "Which devices"
    return (
        f"{shown} took part in each round, with {_first_seed(comparison)}. Work was lost of those that were asked to "
        "train and whose update does not count; idle ones were not asked; dark ones did not answer when the round "
        f"began.{_not_shown('for want of devices', other)}"
    )


def say_slowdown(comparison: Comparison) -> str:
    """Return the caption of the figure of slowdowns."""
    drawn = [row.arm for row in measured(comparison)]
    compared = [arm.name for world in comparison.contests for arm in world.arms]
    untimed = [arm for arm in compared if arm not in drawn]
    measure = "Time" if comparison.clock.differs else "Rounds"
    without = _not_shown("for want of a time to the goal in every run", untimed)
    bars = " Bars are 95 % t-intervals, cut off at the axis." if _most_seeds(comparison) > 1 else ""
    return (
        f"{measure} to the goal of {value(comparison.metric, comparison.goal)}, relative to {best_arms(comparison)}. "
        f"Diamonds: the noise limit, what theory says if gradient noise alone held learning back and clients' "
        f"data did not differ.{bars}{without}{_say_alone(comparison)}"
    )


def _say_lines(comparison: Comparison) -> str:
    seeds = sorted({len(arm.seeds) for arm in comparison.arms})
    if seeds == [1]:
        return "lines are single runs, one seed each"
    over = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return f"lines are means over {over} seeds, bands their 95 % t-intervals"


def _say_goal(comparison: Comparison) -> str:
    goal = value(comparison.metric, comparison.goal)
    missed = [row.arm for row in comparison.rows if row.reached == 0]
    if len(missed) == len(comparison.rows):
        return f"No run came to the goal of {goal}."
    return f"Dashed: the goal, {goal}" + (f", to which no run of {listed(missed)} came." if missed else ".")


def _first_seed(comparison: Comparison) -> str:
    seeds = sorted({arm.seeds[0] for arm in comparison.arms})
    return f"seed {seeds[0]}" if len(seeds) == 1 else "each arm's first seed"


def _most_seeds(comparison: Comparison) -> int:
    return max(len(arm.seeds) for arm in comparison.arms)
