"""Bounds in figures: what uneven participation costs, and what was measured beside what each theorem promises."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from ehfl.report.figures import style
from ehfl.report.figures.looks import Look
from ehfl.report.tables.bound import theorem_label
from ehfl.report.write import fixed, shown_decimals
from ehfl.theory import Verified

_TITLES = {"constant": "constant steps", "sqrt": r"$c\sqrt{n_t}$", "linear": r"$c\,n_t$", "best": "best steps"}
_GREY = "#666666"
_ROW = 0.19  # height of a line [inch]


def extra_rounds_figure(slow: Mapping[str, Mapping[str, float]], look: Mapping[str, Look], about: str = "") -> Figure:
    """Draw how many more rounds than on mains power (the last entry) each arm takes, a panel for each step size rule.

    `about` says what was played.
    """
    names = list(slow)[:-1] or list(slow)
    figure = style.new_figure(7.2, 1.3 + 0.3 * len(names))
    panels = figure.subplots(1, len(_TITLES), sharey=True, sharex=True)
    for axes, (rule, title) in zip(panels, _TITLES.items(), strict=True):
        extra = [100 * (slow[name][rule] - 1) for name in names]
        drawn = [value if math.isfinite(value) else 0.0 for value in extra]
        bars = axes.barh(range(len(names)), drawn, 0.7, color=[look[name].colour for name in names])
        axes.bar_label(bars, [_extra(value) for value in extra], fontsize=style.SMALL, padding=2)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_title(title, fontsize=10, loc="left")
        style.tidy(axes)
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.35)  # for the numbers beside the bars
    panels[0].set_yticks(range(len(names)), [style.shorten(name, 30) for name in names])
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    figure.supxlabel("extra rounds to the same bound as on mains power [%], one seed", fontsize=10)
    figure.suptitle(about, fontsize=style.SMALL, color="#444444", parse_math=False)
    return figure


def _extra(percent: float) -> str:
    """Return extra rounds to two digits.

    >>> _extra(0.837), _extra(13.14), _extra(326.4), _extra(float("inf"))
    ('+0.84', '+13', '+326', 'never')
    """
    return fixed(percent, shown_decimals(abs(percent)), "+") if math.isfinite(percent) else "never"


def verified_figure(results: Sequence[Verified], look: Mapping[str, Look], about: str = "") -> Figure:
    """Draw measurement and bound of each theorem and participation, a panel for each problem and K; constant steps."""
    shown = sorted((r for r in results if r.rule == "constant"), key=lambda r: r.theorem)
    rows = list(dict.fromkeys((r.theorem, r.participation) for r in shown))
    panels = sorted({(r.local_steps, r.problem) for r in shown})
    figure = style.new_figure(7.2, 1.4 + _ROW * (len(rows) + 0.8 * len({theorem for theorem, _ in rows})))
    colours = {name: mine.colour for name, mine in look.items()}
    places = _places(rows)
    grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (k, problem) in zip(grid, panels, strict=True):
        for r in shown:
            if (r.local_steps, r.problem) == (k, problem):
                _draw_line(axes, r, places[r.theorem, r.participation], colours.get(r.participation, _GREY))
        _finish(axes, f"{problem}, K = {k}", places)
        for theorem in sorted({r.theorem for r in shown} - {r.theorem for r in shown if r.local_steps == k}):
            place = min(place for (one, _), place in places.items() if one == theorem)
            axes.text(0.5, place, "proven for K = 1", color=_GREY, fontsize=style.SMALL, ha="center", va="center",
                      transform=axes.get_yaxis_transform())  # fmt: skip
    labels = {place: style.shorten(participation, 24) for (_, participation), place in places.items()}
    first = {theorem: place for (theorem, _), place in reversed(places.items())}
    titles = {place - 1: theorem_label(theorem) for theorem, place in first.items()}
    grid[0].set_yticks([*labels, *titles], [*labels.values(), *titles.values()], fontsize=style.SMALL)
    for tick, place in zip(grid[0].get_yticklabels(), [*labels, *titles], strict=True):
        tick.set_fontweight("bold" if place in titles else "normal")
    figure.supxlabel(f"weighted mean of $|\\nabla f|^2$\n{style.as_text(about)}", fontsize=style.SMALL)
    measured = Line2D([], [], color=_GREY, marker="o", linestyle="", label="measured")
    promised = Line2D([], [], color=_GREY, marker="|", markersize=9, linestyle="", label="bound")
    style.legend(figure, [measured, promised])
    return figure


def _places(rows: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Return the height of each line, from the top, with room for a title above each theorem's."""
    places, place, before = {}, 0.0, ""
    for theorem, participation in rows:
        place += 1.0 if theorem == before else 2.0
        places[theorem, participation], before = place, theorem
    return places


def _draw_line(axes: Axes, r: Verified, place: float, colour: str) -> None:
    axes.plot([r.measured, r.bound], [place, place], color=colour, linewidth=1, alpha=0.6)
    axes.errorbar(r.measured, place, xerr=r.margin, marker="o", color=colour, markersize=4)
    axes.plot(r.bound, place, marker="|", color=colour, markersize=8, markeredgewidth=1.6)


def _finish(axes: Axes, title: str, places: Mapping[tuple[str, str], float]) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(max(places.values()) + 0.8, 0.3)
    axes.set_title(title, fontsize=9, loc="left")
    style.tidy(axes)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x", color="#DDDDDD", linewidth=0.6)
    axes.tick_params(axis="y", length=0)
