"""All figures of a comparison, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from ehfl.analysis import Arm, Comparison
from ehfl.report.figures.audit import weights_figure
from ehfl.report.figures.classes import classes_figure, classes_note, with_classes
from ehfl.report.figures.differences import differences_figure
from ehfl.report.figures.learning import energy_figure, rounds_figure
from ehfl.report.figures.looks import looks_of
from ehfl.report.figures.participation import participation_figure
from ehfl.report.figures.rasters import (
    batteries_figure,
    batteries_note,
    devices_figure,
    on_batteries,
    on_devices,
)
from ehfl.report.figures.slowdown import measured, slowdown_figure
from ehfl.report.figures.style import Drawing, drawn
from ehfl.report.figures.sweep import sweep_caption, sweep_figure
from ehfl.report.tables.compact import most_telling
from ehfl.report.tables.comparison import baselines, best_arms
from ehfl.report.write import listed, value


def draw_all(comparison: Comparison, folder: Path) -> tuple[Drawing, ...]:
    """Write every figure as PNG and SVG into the folder, made if missing, and return them in reading order.

    Left out are differences where no runs can be paired, classes where tasks have none, weights where no client weighed
    more than others as far as seeds can tell, devices where there were none, batteries where no levels were recorded,
    and slowdown where fewer than two arms came to the goal.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn_arms = most_telling(comparison)
    left_out = len(comparison.arms) - len(drawn_arms.arms)
    note = f" {left_out} arms are left out: those closest to their baseline." if left_out else ""
    figure = sweep_figure(comparison)
    sweep = [] if figure is None else [drawn(figure, folder, "sweep", "Sweep", sweep_caption(comparison), "Sweep")]
    return (
        *sweep,
        *(
            drawn(figure, folder, name, one.title, f"{caption_of(name, drawn_arms)}{note}", one.topic)
            for name, one in _FIGURES.items()
            if (figure := one.draw(drawn_arms)) is not None
        ),
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the figures that a comparison may have."""

    topic: str
    title: str
    draw: Callable[[Comparison], Figure | None]
    caption: str  # with fields of `_fields`
    note: Callable[[Comparison], str] | None = None  # what else must be said
    arms: Callable[[Comparison], Iterable[Arm]] | None = None  # that are shown, if not all are
    why: str = ""  # others are not


def caption_of(name: str, comparison: Comparison) -> str:
    """Return the caption of a figure, with the arms that it does not show."""
    one = _FIGURES[name]
    note = one.note(comparison) if one.note else ""
    shown = list(one.arms(comparison)) if one.arms else comparison.arms
    others = [arm.name for arm in comparison.arms if arm not in shown]
    left_out = f" Not shown ({one.why}): {listed(others)}." if others else ""
    return f"{one.caption.format_map(_fields(comparison))}{note}{left_out}"


def _fields(comparison: Comparison) -> dict[str, str]:
    """Return what captions say of a comparison, by the names that they have for it."""
    metric, clock, goal = comparison.metric, comparison.clock, value(comparison.metric, comparison.goal)
    several, counts = comparison.most_seeds > 1, sorted({len(arm.seeds) for arm in comparison.arms})
    seeds = sorted({arm.seeds[0] for arm in comparison.arms})
    over = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    reached = any(row.reached for row in comparison.rows)
    along = f"rounds and {clock.scale.unit}" if clock.is_known else "rounds"
    return {
        "metric": metric.name.capitalize(),
        "along": "time, since arms' rounds differ in length" if clock.differs else along,
        "lines": f"lines are means over {over} seeds, bands their 95 % t-intervals" if several else "one seed",
        "dots": "; dots mark rounds where the interval excludes zero" if several else "",
        "bars": "; bars are 95 % t-intervals over seeds" if several else "",
        "over": f", mean over {over} seeds" if several else "",
        "goal": goal,
        "dashed": f"Dashed: the goal, {goal}." if reached else f"No run reached the goal of {goal}.",
        "first": f"seed {seeds[0]}" if len(seeds) == 1 else "each arm's first seed",
        "wanted": " or ".join(f"{target:,}" for target in dict.fromkeys(world.target for world in comparison.worlds)),
        "baselines": baselines(comparison),
        "best": best_arms(comparison),
        "points": ", in percentage points" if metric.is_share else "",
        "better": "Below" if metric.lower_is_better else "Above",
        "timed": "Time" if clock.differs else "Rounds",
    }


def _participation(comparison: Comparison) -> Figure:
    counts = {arm.name: arm.counts for arm in comparison.arms}
    targets = {arm.name: world.target for world in comparison.worlds for arm in world.arms}
    return participation_figure(counts, looks_of(comparison), targets, comparison.clock)


def _contestants(comparison: Comparison) -> Iterator[Arm]:
    return (arm for world in comparison.contests for arm in world.arms)


def _measured(comparison: Comparison) -> Iterator[Arm]:
    return (comparison.arm(row.arm) for row in measured(comparison))


def _mains_note(comparison: Comparison) -> str:
    mains = [arm.name for arm in comparison.arms if arm.mains_powered]
    return f" The energy of {listed(mains)} comes from the mains, not from batteries." if mains else ""


_FIGURES = {  # by name, in reading order
    "learning": _Kind(
        "Learning", "Learning, round by round", rounds_figure,
        "{metric} (left) and loss (right) on the test set against {along}; {lines}. {dashed}",
    ),
    "differences": _Kind(
        "Learning", "Differences, pair by pair", differences_figure,
        "{metric} on the test set minus that of {baselines}{points}, over paired runs (same seed, weather, data and "
        "first model); {lines}{dots}. {better} zero is better.",
        arms=_contestants, why="no other arm to compare with",
    ),
    "classes": _Kind(
        "Who is served", "Accuracy, class by class", classes_figure,
        "Accuracy of the last model on each class [%]{over}. Darker is lower; framed: the lowest of each arm.",
        note=classes_note, arms=with_classes, why="no classes",
    ),
    "participation": _Kind(
        "Who took part", "Participants", _participation,
        "Participants of each round (left) and how often each number of them occurred (right), with their mean and "
        "standard deviation. Grey: the {wanted} wanted a round. Dots are of {first}, all else is over all seeds.",
    ),
    "weights": _Kind(
        "Who took part", "Weight of each client", weights_figure,
        "What each client weighs in a plain mean of the participants, not by the arm's own aggregation{bars}; below, "
        "where labels are known, the share of each class in what such a mean optimises, beside its true share. Arms in "
        "which the same clients took part are drawn once.",
    ),
    "devices": _Kind(
        "Who took part", "Devices, round by round", devices_figure,
        "Which devices took part in each round, or how many of very many, with {first}. Work lost: asked to train, but "
        "the update does not count. Idle: not asked. Offline: no answer when the round began.",
        arms=on_devices, why="no devices",
    ),
    "energy": _Kind(
        "Energy", "Learning for the energy spent", energy_figure,
        "{metric} on the test set against the energy spent on training by each evaluation, all clients together{over}; "
        "{lines}.",
        note=_mains_note,
    ),
    "batteries": _Kind(
        "Energy", "Batteries", batteries_figure,
        "The level of every client's battery at the start of every round and after the last, with {first}: the darkest "
        "colour is an empty battery.",
        note=batteries_note, arms=on_batteries, why="on mains power, or levels were not recorded",
    ),
    "slowdown": _Kind(
        "Theory", "Slowdown, measured and by theory", slowdown_figure,
        "{timed} to the goal of {goal}, relative to {best}{bars}. Diamonds: the noise limit, the bound if gradient "
        "noise dominates and the clients' data do not differ.",
        arms=_measured, why="no other arm to compare with, or some run did not reach the goal",
    ),
}  # fmt: skip
