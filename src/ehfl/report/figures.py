"""All figures of a comparison, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from ehfl.analysis import Comparison
from ehfl.report import batteries, captions, devices
from ehfl.report.audit_figure import weights_figure
from ehfl.report.classes import classes_figure
from ehfl.report.curves import energy_figure, rounds_figure
from ehfl.report.differences import differences_figure
from ehfl.report.drawings import Drawing, drawn
from ehfl.report.looks import looks_of
from ehfl.report.participation import participation_figure
from ehfl.report.slowdown import slowdown_figure


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
    topic, title, make, caption = _FIGURES[name]
    figure = make(comparison)
    if figure is None:
        return None
    return drawn(figure, folder, name, title, caption(comparison), topic)


def _participation(comparison: Comparison) -> Figure:
    counts = {arm.name: arm.counts for arm in comparison.arms}
    targets = {arm.name: world.target for world in comparison.worlds for arm in world.arms}
    return participation_figure(counts, looks_of(comparison), targets, comparison.clock)


# Topic, title, figure and caption by name, in reading order.
_FIGURES: dict[str, tuple[str, str, Callable[[Comparison], Figure | None], Callable[[Comparison], str]]] = {
    "learning": ("Learning", "Learning, round by round", rounds_figure, captions.say_rounds),
    "differences": ("Learning", "Differences, pair by pair", differences_figure, captions.say_differences),
    "classes": ("Who is served", "Accuracy, class by class", classes_figure, captions.say_classes),
    "participation": ("Who took part", "Participants", _participation, captions.say_participation),
    "weights": ("Who took part", "Who was heard", weights_figure, captions.say_weights),
    "devices": ("Who took part", "Devices, round by round", devices.devices_figure, captions.say_devices),
    "energy": ("Energy", "Learning for the energy spent", energy_figure, captions.say_energy),
    "batteries": ("Energy", "Batteries", batteries.batteries_figure, captions.say_batteries),
    "slowdown": ("Theory", "Slowdown, measured and by theory", slowdown_figure, captions.say_slowdown),
}
