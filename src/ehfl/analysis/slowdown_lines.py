"""Lines of a comparison's table on how long arms take: as measured, by the noise-scale law, and in the noise limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehfl.analysis.cells import Cell, Quantity, amount_cell, estimate_cell, metric_cell
from ehfl.analysis.compared_with import best_arms
from ehfl.analysis.intervals import write_scale
from ehfl.analysis.numbers import DASH, fixed

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.rows import Row
    from ehfl.analysis.statistics import Estimate


def slowdown_lines(comparison: Comparison) -> list[Quantity[Row]]:
    """Return the lines on slowdowns, where there are arms to compare, and on noise scales, where they were measured."""
    rows = comparison.rows
    forecast = any(row.forecast_slowdown for row in rows)
    return [
        *(_slowdowns(comparison, forecast=forecast) if comparison.contests else ()),
        *([_end(comparison)] if any(row.forecast_final for row in rows) else ()),
        *([_scale()] if any(row.noise_scale for row in rows) else ()),
    ]


def forecast_caption(comparison: Comparison) -> str:
    """Return which noise scale forecasts were made with, in each world that has any."""
    scales = {world.name: comparison.forecast(world).scale for world in comparison.contests}
    found = {name: scale for name, scale in scales.items() if scale is not None}
    written = [
        f"B = {write_scale(scale.estimate).text}{f' in {name}' if name else ''}, from {scale.source}"
        for name, scale in found.items()
    ]
    return f"forecasts with {'; '.join(written)}" if any(row.forecast_slowdown for row in comparison.rows) else ""


def _slowdowns(comparison: Comparison, *, forecast: bool) -> list[Quantity[Row]]:
    best = best_arms(comparison)
    counted = "Times" if comparison.clock.differs else "Rounds"
    group = _group(comparison)
    compared = {arm.name for world in comparison.contests for arm in world.arms}

    def limit(row: Row) -> Cell:
        return amount_cell(row.noise_limit if row.arm in compared else None)

    law: list[Quantity[Row]] = [
        Quantity(group, "forecast", "What the noise-scale law says: a round with n participants is worth 1 / (1 + B/n) "
                 "of its step; the 95 % interval is over seeds, B's among them",
                 lambda row: estimate_cell(row.forecast_slowdown, null=1.0), nested=True),
        Quantity(group, "error of forecast", "Against the measured slowdown, of arms that came to the goal in rounds "
                 "which B was not made from", _error, nested=True),
    ]  # fmt: skip
    return [
        Quantity(group, "slowdown, measured", f"{counted} to the goal over those of {best}, over pairs of runs that "
                 "met the same, and 95 % interval", lambda row: estimate_cell(row.measured_slowdown, null=1.0)),
        *(law if forecast else ()),
        Quantity(group, "noise limit", "What theory says of a plain mean, whatever an arm aggregates by, if gradient "
                 "noise alone held learning back and clients' data did not differ", limit, nested=True),
    ]  # fmt: skip


def _group(comparison: Comparison) -> str:
    return f"{'Time' if comparison.clock.differs else 'Rounds'}, relative to {best_arms(comparison)}"


def _error(row: Row) -> Cell:
    return Cell(DASH if row.forecast_error is None else f"{fixed(100 * row.forecast_error, 1, '+')} %")


def _end(comparison: Comparison) -> Quantity[Row]:
    metric = comparison.metric
    return Quantity(
        _group(comparison) if comparison.contests else "Noise", "forecast of the end", f"The {metric.name} after the "
        "last round by the same law, on the curve of the arm that others are relative to",
        lambda row: metric_cell(metric, row.forecast_final),
    )  # fmt: skip


def _scale() -> Quantity[Row]:
    return Quantity(
        "Noise", "noise scale [clients]", "B from the arm's own updates and losses up to the goal, and 95 % interval: "
        "a round with so many participants is worth half of one without noise",
        lambda row: _scale_cell(row.noise_scale),
    )  # fmt: skip


def _scale_cell(found: Estimate | None) -> Cell:
    """Return B; its interval, which is not symmetric, where there is room for both ends."""
    if found is None:
        return Cell(DASH)
    written = write_scale(found)
    return Cell(written.mean, ends=written.ends)
