"""Harvests in figures: a day, a year and every hour of it; and models fitted to a trace beside what was measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from ehfl.analysis.units import Scale
from ehfl.arrays import FloatArray
from ehfl.energy.study.fitting import Fit, Fits, Model, State
from ehfl.energy.study.survey import DAY, YEAR, Survey
from ehfl.quantities import as_energy, as_time
from ehfl.report.figures import style
from ehfl.report.tables.harvest import MODELS, MONTHS, energy_scale, power_scale

_COLOUR = "#0072B2"
_BAND = (0.1, 0.9)  # quantiles
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MOST_ROUNDS = 500  # that are drawn one by one
_WINDOW, _LONG = 15, 60  # days of a moving mean, and from how many on it is drawn
_UNITS = Scale("units")
_LINES: dict[Model, tuple[str, tuple[float, ...]]] = {  # colour, dash
    "bernoulli": ("#D55E00", (1, 1.2)),
    "markov": ("#0072B2", (5, 1.5)),
}
_MEASURED, _MEAN = "#222222", "#666666"
_LEAST_DAYS = 3  # below which there is no course of days to draw


def survey_figure(survey: Survey) -> Figure:
    """Draw the mean day (or the record, where it is shorter), the days one by one, and the hours of a year."""
    has_days = len(survey.days) >= _LEAST_DAYS
    has_map = survey.first_day is not None and len(survey.days) >= YEAR and survey.steps.shape[1] >= 8
    figure = style.new_figure(7.2, 5.6 if has_map else 2.9)
    grid: Any = [["turn", "days"] if has_days else ["turn"], *([["map", "map"]] if has_map else [])]
    panels = figure.subplot_mosaic(grid, height_ratios=[1.0, 1.15][: len(grid)])
    (_draw_turn if survey.steps.shape[1] > 1 else _draw_rounds)(panels["turn"], survey)
    if has_days:
        _draw_days(panels["days"], survey)
    if has_map:
        _draw_map(figure, panels["map"], survey)
    over = "days and clients" if survey.in_watts and survey.cycle == DAY else "clients"
    about = f"{style.shorten(survey.harvest, 50)}, {survey.clients_text()}" + (
        f"; bands: 10 % to 90 % of {over}" if survey.clients > 1 else ""
    )
    figure.suptitle(about, fontsize=style.SMALL, color="#444444", parse_math=False)
    return figure


def _draw_turn(axes: Axes, survey: Survey) -> None:
    """Draw the time of day, or the whole of a short record: in watts over days and clients, in units over clients.

    A unit comes or does not, so that quantiles over days would jump between the two.
    """
    days = survey.steps if survey.in_watts else survey.steps.mean(axis=0, keepdims=True)
    values = days.transpose(1, 0, 2).reshape(days.shape[1], -1)  # (n_slots, n_days n_clients)
    top = float(np.quantile(values, _BAND[1], axis=1).max())
    scale = power_scale(top) if survey.in_watts else _UNITS
    if survey.cycle == DAY:
        draw_day(axes, scale.of(values), survey.first_second, _COLOUR)
    else:
        draw_band(axes, (np.arange(len(values)) + 0.5) / len(values) * survey.cycle, scale.of(values), _COLOUR)
        axes.set_xlabel("time in the record [s]")
        axes.set_xlim(0, survey.cycle)
    axes.set_ylim(bottom=0)
    style.tidy(axes)
    what = f"power [{scale.unit}]" if survey.in_watts else "units a round"
    title = f"a day: {what}" if survey.cycle == DAY else f"{what}, {as_time(survey.cycle)}"
    axes.set_title(title, fontsize=10, loc="left")


def _draw_rounds(axes: Axes, survey: Survey) -> None:
    """Draw the first rounds one by one, where they make no day, or are longer."""
    draw_band(axes, survey.rounds[:_MOST_ROUNDS] + 0.5, survey.amounts[:_MOST_ROUNDS], _COLOUR)
    axes.set_ylim(bottom=0)
    style.tidy(axes)
    style.count(axes.xaxis)
    axes.set_xlabel("round")
    axes.set_title("units a round", fontsize=10, loc="left")


def _draw_days(axes: Axes, survey: Survey) -> None:
    """Draw what each day brings, clients' mean and their band."""
    scale = energy_scale(float(survey.days.mean(axis=1).max())) if survey.in_watts else _UNITS
    days = scale.of(survey.days)
    smooth = len(days) >= _LONG
    draw_band(axes, np.arange(len(days)) + 0.5, days, _COLOUR, width=0.5 if smooth else 1.4)
    if smooth:
        mean = np.convolve(days.mean(axis=1), np.full(_WINDOW, 1 / _WINDOW), mode="valid")
        axes.plot(np.arange(len(mean)) + _WINDOW / 2, mean, color=style.ink(_COLOUR), linewidth=2.0)
    axes.set_ylim(bottom=0)
    style.tidy(axes)
    if survey.first_day is not None and len(survey.days) >= YEAR:
        _months_on(axes.xaxis, survey.first_day, every=2)
    else:
        style.count(axes.xaxis)
    axes.set_xlabel(f"day (bold: mean of {_WINDOW} days)" if smooth else "day")
    axes.set_xlim(0, len(survey.days))
    what = f"energy a day [{scale.unit}]" if survey.in_watts else "units a day"
    when = "a year" if len(survey.days) == YEAR else f"{len(survey.days)} days"
    axes.set_title(f"{when}: {what}", fontsize=10, loc="left")


def _draw_map(figure: Figure, axes: Axes, survey: Survey) -> None:
    """Draw the mean over clients of every hour of the year: days from left to right, hours upwards."""
    hours = survey.steps.mean(axis=2).T  # (n_slots, n_days)
    hours = np.roll(hours, round(survey.first_second / DAY * len(hours)), axis=0)
    scale = power_scale(float(hours.max())) if survey.in_watts else _UNITS
    extent = (0.0, float(hours.shape[1]), 0.0, 24.0)
    drawn = axes.imshow(
        scale.of(hours), aspect="auto", origin="lower", extent=extent, cmap="inferno", interpolation="none", vmin=0
    )
    axes.set_yticks([0, 6, 12, 18, 24])
    axes.set_ylabel("hour of day")
    axes.tick_params(labelsize=9)
    _months_on(axes.xaxis, survey.first_day or 0)
    figure.colorbar(drawn, ax=axes, pad=0.015).ax.tick_params(labelsize=9)
    what = f"power [{scale.unit}]" if survey.in_watts else "units a round"
    axes.set_title(f"every hour: {what}, mean of the clients", fontsize=10, loc="left")


def draw_day(axes: Axes, values: FloatArray, first_second: float, colour: str) -> None:
    """Draw means and bands of parts of a day, (n_slots, n_samples), of which the first begins at a time of day [s]."""
    slots = len(values)
    place = np.arange(-1, slots + 1)  # one more on either side, since midnight lies between two
    order = np.argsort((first_second + (np.arange(slots) + 0.5) * DAY / slots) % DAY)
    hours = np.sort((first_second + (np.arange(slots) + 0.5) * DAY / slots) % DAY) / 3600
    around = np.concatenate([[hours[-1] - 24], hours, [hours[0] + 24]])
    draw_band(axes, around, values[order][place % slots], colour)
    axes.set_xlim(0, 24)
    axes.set_xticks([0, 6, 12, 18, 24])
    axes.set_xlabel("hour of day")


def draw_band(
    axes: Axes, at: NDArray[np.floating[Any]], values: FloatArray, colour: str, *, width: float = 1.8
) -> None:
    """Draw the mean of each row's values and the band between their quantiles."""
    low, high = np.quantile(values, _BAND, axis=1)
    axes.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0)
    axes.plot(at, values.mean(axis=1), color=colour, linewidth=width)


def _months_on(axis: Axis, first_day: int, every: int = 1) -> None:
    """Name months below the days at which they begin, as far as there is room."""
    begins = (np.cumsum((0, *_LENGTHS[:-1])) - first_day) % YEAR
    places, names = zip(*sorted(zip(begins.tolist(), MONTHS, strict=True)), strict=True)
    axis.set_ticks(places[::every], names[::every])


# Models fitted to a trace.


def fit_figure(fits: Fits, *, day: FloatArray | None = None, about: str = "") -> Figure:
    """Draw run lengths and the power by time of day, `day`, (n_slots, n_samples) [W], where it is known."""
    figure = style.new_figure(7.2, 3.2 if day is None else 5.4)
    grid: Any = [["on", "off"], *([["power", "power"]] if day is not None else [])]
    panels = figure.subplot_mosaic(grid)
    _draw_runs(panels["on"], fits.together, "on")
    _draw_runs(panels["off"], fits.together, "off")
    panels["on"].set_ylabel("share of runs as long or longer")
    if day is not None:
        _draw_power(panels["power"], day)
    on = f"on: at least {as_energy(fits.unit)} in a round of {as_time(fits.round_length)}"
    figure.suptitle(
        f"{style.shorten(about, 50)}; {on}" if about else on, fontsize=style.SMALL, color="#444444", parse_math=False
    )
    return figure


def _draw_runs(axes: Axes, fit: Fit, state: State) -> None:
    """Draw how many runs are as long or longer: geometric runs are straight lines here."""
    lengths = fit.on_runs if state == "on" else fit.off_runs
    longest = int(lengths.max()) if lengths.size else 20
    at, lowest = np.arange(1, longest + 1), 0.5 / max(lengths.size, 10)
    for model, (colour, dash) in _LINES.items():
        share = fit.chance_to_go_on(model, state) ** (at - 1.0)
        seen = share >= lowest
        axes.plot(at[seen], share[seen], color=colour, linestyle=(0, dash), linewidth=1.8, label=MODELS[model])
    if lengths.size:
        share = 1 - np.searchsorted(lengths, at, side="left") / lengths.size
        axes.step(at, share, where="mid", color=_MEASURED, linewidth=1.6, label="measured", zorder=3)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=None, symbol=" %"))
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


def _draw_power(axes: Axes, day: FloatArray) -> None:
    """Draw the mean power by time of day with its spread over days and columns, and the mean that models keep to."""
    scale = power_scale(float(np.quantile(day, 0.9, axis=1).max()))
    draw_day(axes, scale.of(day), 0.0, _COLOUR)
    axes.axhline(scale.of(float(day.mean())), color=_MEAN, linewidth=1.2, linestyle=(0, (4, 1.5)))
    style.tidy(axes)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.2)  # room for the legend
    axes.set_title(f"power by time of day [{scale.unit}]", fontsize=10, loc="left")
    handles = [
        Line2D([], [], color=_COLOUR, linewidth=1.8, label="mean"),
        Line2D([], [], color=_COLOUR, linewidth=7, alpha=0.25, label="10 % to 90 % of days and columns"),
        Line2D([], [], color=_MEAN, linewidth=1.2, linestyle=(0, (4, 1.5)), label="mean of both models"),
    ]
    axes.legend(handles=handles, fontsize=style.SMALL, frameon=False, loc="upper center", ncols=3)
