"""All figures of a comparison, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from ehfl.analysis import Comparison
from ehfl.report.figures.audit import weights_figure
from ehfl.report.figures.classes import classes_caption, classes_figure
from ehfl.report.figures.differences import differences_caption, differences_figure
from ehfl.report.figures.learning import energy_caption, energy_figure, rounds_caption, rounds_figure
from ehfl.report.figures.looks import looks_of
from ehfl.report.figures.participation import participation_caption, participation_figure
from ehfl.report.figures.rasters import batteries_caption, batteries_figure, devices_caption, devices_figure
from ehfl.report.figures.slowdown import slowdown_caption, slowdown_figure
from ehfl.report.figures.style import Drawing, drawn
from ehfl.report.figures.sweep import sweep_caption, sweep_figure
from ehfl.report.tables.compact import most_telling


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
            drawn(figure, folder, name, title, f"{caption(drawn_arms)}{note}", topic)
            for name, (topic, title, make, caption) in _FIGURES.items()
            if (figure := make(drawn_arms)) is not None
        ),
    )


def _participation(comparison: Comparison) -> Figure:
    counts = {arm.name: arm.counts for arm in comparison.arms}
    targets = {arm.name: world.target for world in comparison.worlds for arm in world.arms}
    return participation_figure(counts, looks_of(comparison), targets, comparison.clock)


def weights_caption(comparison: Comparison) -> str:
    """Return the caption of the figure of what clients weigh."""
    labels = all(trial.labels is not None for arm in comparison.arms for trial in arm.trials)
    mixed = ", and below the share of each class in what such a mean optimises, beside its true share" if labels else ""
    ends = "; bars are 95 % t-intervals over seeds" if comparison.most_seeds > 1 else ""
    return (
        f"What each client weighs in a plain mean of the participants, not by the arm's own aggregation{ends}{mixed}. "
        "Arms in which the same clients took part are drawn once."
    )


# Topic, title, figure and caption by name, in reading order.
_FIGURES: dict[str, tuple[str, str, Callable[[Comparison], Figure | None], Callable[[Comparison], str]]] = {
    "learning": ("Learning", "Learning, round by round", rounds_figure, rounds_caption),
    "differences": ("Learning", "Differences, pair by pair", differences_figure, differences_caption),
    "classes": ("Who is served", "Accuracy, class by class", classes_figure, classes_caption),
    "participation": ("Who took part", "Participants", _participation, participation_caption),
    "weights": ("Who took part", "Weight of each client", weights_figure, weights_caption),
    "devices": ("Who took part", "Devices, round by round", devices_figure, devices_caption),
    "energy": ("Energy", "Learning for the energy spent", energy_figure, energy_caption),
    "batteries": ("Energy", "Batteries", batteries_figure, batteries_caption),
    "slowdown": ("Theory", "Slowdown, measured and by theory", slowdown_figure, slowdown_caption),
}
