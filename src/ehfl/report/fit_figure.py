"""Models fitted to a trace, as a figure: run lengths beside both fits, and what neither has, the time of day."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from ehfl.arrays import FloatArray
from ehfl.energy.fitting import Fit, Fits, Model, State
from ehfl.quantities import as_energy, as_time
from ehfl.report import style
from ehfl.report.harvest_figures import draw_day
from ehfl.report.harvest_scales import power_scale

MODELS: dict[Model, tuple[str, str, tuple[float, ...]]] = {  # name, colour, dash
    "bernoulli": ("Bernoulli", "#D55E00", (1, 1.2)),
    "markov": ("Markov", "#0072B2", (5, 1.5)),
}
_MEASURED, _DAY = "#222222", "#0072B2"


def draw_fit(fits: Fits, path: Path, *, day: FloatArray | None = None, about: str = "") -> None:
    """Write the figure to a file; `day` is the power by time of day, (n_slots, n_samples) [W], where it is known."""
    figure = style.new_figure(7.2, 3.2 if day is None else 5.4)
    panels = figure.subplots(1 if day is None else 2, 2, squeeze=False)
    for axes, state in zip(panels[0], ("on", "off"), strict=True):
        _draw_runs(axes, fits.together, state)  # type: ignore[arg-type]  # a tuple of two texts is one of texts
    panels[0, 0].set_ylabel("share of runs as long or longer")
    if day is not None:
        grid = panels[1, 0].get_gridspec()
        for axes in panels[1]:
            axes.remove()
        _draw_day(figure.add_subplot(grid[1, :]), day)
    on = f"on: at least {as_energy(fits.unit)} in a round of {as_time(fits.round_length)}"
    figure.suptitle(
        f"{style.shorten(about, 50)}; {on}" if about else on, fontsize=style.SMALL, color="#444444", parse_math=False
    )
    style.save(figure, path)


def _draw_runs(axes: Axes, fit: Fit, state: State) -> None:
    """Draw how many runs are as long or longer: geometric runs are straight lines here."""
    lengths = fit.on_runs if state == "on" else fit.off_runs
    longest = int(lengths.max()) if lengths.size else 20
    at, lowest = np.arange(1, longest + 1), 0.5 / max(lengths.size, 10)
    for model, (name, colour, dash) in MODELS.items():
        share = fit.chance_to_go_on(model, state) ** (at - 1.0)
        seen = share >= lowest
        axes.plot(at[seen], share[seen], color=colour, linestyle=(0, dash), linewidth=1.8, label=name)
    if lengths.size:
        share = 1 - np.searchsorted(lengths, at, side="left") / lengths.size
        axes.step(at, share, where="mid", color=_MEASURED, linewidth=1.6, label="measured", zorder=3)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
    axes.set_ylim(lowest, 1.3)
    axes.set_xlim(0.5, longest + 0.8)
    style.tidy(axes)
    style.count(axes.xaxis)
    axes.set_xlabel(f"rounds {state} in a row")
    seen_whole = (
        f"{lengths.size:,} runs of rounds that are {state}" if lengths.size else "none was seen from end to end"
    )
    axes.set_title(seen_whole, fontsize=10, loc="left")
    if state == "off":  # which the other panel's lines are called, too
        axes.legend(fontsize=style.SMALL, frameon=False, loc="best")


def _draw_day(axes: Axes, day: FloatArray) -> None:
    """Draw the mean power by time of day with its spread over days and columns, and the mean that models keep to."""
    scale = power_scale(float(np.quantile(day, 0.9, axis=1).max()))
    draw_day(axes, day / scale.factor, 0.0, _DAY)
    axes.axhline(float(day.mean()) / scale.factor, color="#666666", linewidth=1.2, linestyle=(0, (4, 1.5)))
    style.tidy(axes)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.2)  # room for the legend
    axes.set_title(f"power by time of day [{scale.unit}]", fontsize=10, loc="left")
    handles = [
        Line2D([], [], color=_DAY, linewidth=1.8, label="mean"),
        Line2D([], [], color=_DAY, linewidth=7, alpha=0.25, label="10 % to 90 % of days and columns"),
        Line2D([], [], color="#666666", linewidth=1.2, linestyle=(0, (4, 1.5)), label="what both models have"),
    ]
    axes.legend(handles=handles, fontsize=style.SMALL, frameon=False, loc="upper center", ncols=3)
