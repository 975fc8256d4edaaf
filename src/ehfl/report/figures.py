"""All figures of a comparison, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ehfl.analysis import Comparison
from ehfl.analysis.compared_with import baselines, best_arms
from ehfl.analysis.difference_curves import difference_curves
from ehfl.analysis.numbers import value
from ehfl.report import batteries, devices, style
from ehfl.report.audit_figure import weights_figure
from ehfl.report.classes import classes_figure, say_classes
from ehfl.report.curves import energy_figure, rounds_figure
from ehfl.report.differences import differences_figure
from ehfl.report.looks import looks_of
from ehfl.report.participation import participation_figure
from ehfl.report.phrases import counted, listed
from ehfl.report.rasters import say_cells
from ehfl.report.scales import linear_within
from ehfl.report.slowdown import measured, slowdown_figure


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure in two formats, with what a reader should see in it."""

    name: str  # "learning", the files' stem
    title: str
    caption: str
    png: Path
    svg: Path


def draw_all(comparison: Comparison, folder: Path) -> tuple[Drawing, ...]:
    """Write every figure as PNG and SVG into the folder, made if missing, and return them in reading order.

    Left out are differences where no runs can be paired, classes where tasks have none, weights where nobody was heard
    more than others as far as seeds can tell, devices where there were none, batteries where no levels were recorded,
    and slowdown where fewer than two arms came to the goal.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = (_draw(name, comparison, folder) for name in _FIGURES)
    return tuple(drawing for drawing in made if drawing is not None)


def _draw(name: str, comparison: Comparison, folder: Path) -> Drawing | None:
    title, make, caption = _FIGURES[name]
    figure = make(comparison)
    if figure is None:
        return None
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    for path in (png, svg):
        style.save(figure, path)
    return Drawing(name, title, caption(comparison), png, svg)


def _participation(comparison: Comparison) -> Figure:
    counts = {arm.name: arm.counts for arm in comparison.arms}
    targets = {arm.name: world.target for world in comparison.worlds for arm in world.arms}
    return participation_figure(counts, looks_of(comparison), targets)


def _say_rounds(comparison: Comparison) -> str:
    metric = comparison.metric
    return (
        f"{metric.name.capitalize()} (left) and loss (right) on the test set against rounds; {_say_lines(comparison)}. "
        f"{_say_goal(comparison)}"
    )


def _say_differences(comparison: Comparison) -> str:
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
    return f" Not shown, since no other arm met the same: {listed(alone)}." if alone else ""


def _say_shrinking(comparison: Comparison) -> str:
    level = linear_within([curve.gaps for curve in difference_curves(comparison)])
    return "" if level is None else f" The axis is linear within {level:g} of zero and logarithmic beyond."


def _say_energy(comparison: Comparison) -> str:
    mains = [arm.name for arm in comparison.arms if arm.mains_powered]
    source = f" The energy of {listed(mains)} comes from the mains, not from batteries." if mains else ""
    metric = comparison.metric.name.capitalize()
    mean = ", mean over seeds" if _most_seeds(comparison) > 1 else ""
    return (
        f"{metric} on the test set against the energy that training had taken by each evaluation, "
        f"all clients together{mean}; {_say_lines(comparison)}.{source}"
    )


def _say_participation(comparison: Comparison) -> str:
    many = _most_seeds(comparison) > 1
    seeds = f" Dots are of {_first_seed(comparison)}, all else is over all seeds." if many else ""
    return (
        "Participants of each round (left) and how often each number of them occurred (right), with their mean and "
        f"standard deviation. Grey: the {_say_targets(comparison)} wanted a round.{seeds}"
    )


def _say_targets(comparison: Comparison) -> str:
    *others, last = dict.fromkeys(world.target for world in comparison.worlds)
    return "".join(f"{target:,} or " for target in others) + counted(last, "client")


def _say_weights(comparison: Comparison) -> str:
    labels = all(trial.labels is not None for arm in comparison.arms for trial in arm.trials)
    mixed = ", and below the share of each class in what such a mean optimises, beside its true share" if labels else ""
    ends = "; bars are 95 % t-intervals over seeds" if _most_seeds(comparison) > 1 else ""
    return (
        f"What each client weighs in a plain mean of the participants, whatever an arm aggregates by{ends}{mixed}. "
        "Arms in which the same clients took part are drawn once."
    )


def _say_batteries(comparison: Comparison) -> str:
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


def _say_devices(comparison: Comparison) -> str:
    drawn = devices.on_devices(comparison)
    other = [arm.name for arm in comparison.arms if arm not in drawn]
    without = f" Not shown, for want of devices: {listed(other)}." if other else ""
    shown = "How many devices" if any(map(devices.is_counted, drawn)) else "Which devices"
    return (
        f"{shown} took part in each round, with {_first_seed(comparison)}. Work was lost of those that were asked to "
        "train and whose update does not count; idle ones were not asked; dark ones did not answer when the round "
        f"began.{without}"
    )


def _say_slowdown(comparison: Comparison) -> str:
    drawn = [row.arm for row in measured(comparison)]
    compared = [arm.name for world in comparison.contests for arm in world.arms]
    untimed = [arm for arm in compared if arm not in drawn]
    without = f" Not shown, for want of a time to the goal in every run: {listed(untimed)}." if untimed else ""
    bars = "; bars are 95 % t-intervals, cut off at the axis" if _most_seeds(comparison) > 1 else ""
    return (
        f"Rounds to the goal of {value(comparison.metric, comparison.goal)}, relative to {best_arms(comparison)}, "
        f"beside the noise limit: what theory says if gradient noise alone held learning back and clients' data did "
        f"not differ{bars}. Where the diamond lies to the right, an arm lost fewer rounds than that."
        f"{without}{_say_alone(comparison)}"
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


# Title, figure and caption by name, in reading order.
_FIGURES: dict[str, tuple[str, Callable[[Comparison], Figure | None], Callable[[Comparison], str]]] = {
    "learning": ("Learning, round by round", rounds_figure, _say_rounds),
    "differences": ("Differences, pair by pair", differences_figure, _say_differences),
    "classes": ("Who is served, class by class", classes_figure, say_classes),
    "energy": ("Learning for the energy spent", energy_figure, _say_energy),
    "participation": ("Participants", _participation, _say_participation),
    "weights": ("Who was heard", weights_figure, _say_weights),
    "devices": ("Devices, round by round", devices.devices_figure, _say_devices),
    "batteries": ("Batteries", batteries.batteries_figure, _say_batteries),
    "slowdown": ("Slowdown beside its noise limit", slowdown_figure, _say_slowdown),
}
