"""Bounds of schedulers as a figure: what uneven participation costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from ehfl.analysis.numbers import fixed, shown_decimals
from ehfl.report import style
from ehfl.report.looks import looks

_TITLES = {"constant": "constant steps", "sqrt": r"$c\sqrt{n_t}$", "linear": r"$c\,n_t$", "best": "best steps"}


def draw_slowdown(
    slow: Mapping[str, Mapping[str, float]], path: Path, *, schedulers: Mapping[str, str], about: str = ""
) -> None:
    """Draw how many more rounds than on mains power (the last entry) each arm takes, a panel for each step size rule.

    `schedulers` gives the registered name of each arm's scheduler by label, empty for the user's own: see `looks`.
    `about` says what was played.
    """
    names = list(slow)[:-1] or list(slow)
    look = looks({name: schedulers[name] for name in names})
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
    style.save(figure, path)


def _extra(percent: float) -> str:
    """Return extra rounds to two digits.

    >>> _extra(0.837), _extra(13.14), _extra(326.4), _extra(float("inf"))
    ('+0.84', '+13', '+326', 'never')
    """
    return fixed(percent, shown_decimals(abs(percent)), "+") if math.isfinite(percent) else "never"
