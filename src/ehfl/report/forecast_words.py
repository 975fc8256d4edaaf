"""Sentences on what the noise-scale law forecasts, what with, and how far off it was."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ehfl.analysis import Comparison, Row
from ehfl.analysis.forecast import Forecast
from ehfl.analysis.intervals import write_amount, write_scale
from ehfl.analysis.noise_scale import NoiseScale
from ehfl.analysis.numbers import percent
from ehfl.analysis.worlds import World
from ehfl.report.phrases import in_short, in_world, listed, spoken, with_range


def forecast_sentences(comparison: Comparison) -> Iterator[str]:
    """Say of each world what is forecast of its slowest arm, by which noise scale, and how far off forecasts were."""
    for world in comparison.contests:
        forecast, rows = comparison.forecast(world), comparison.rows_of(world)
        if forecast.scale is None and any(math.isfinite(row.noise_limit) for row in rows):
            yield in_world(world, f"There is no forecast: {_without_world(world, forecast.why_not)}.")
        elif forecast.scale and forecast.slowdowns:
            yield from _forecast(comparison, world, forecast.scale)
        yield from _not_covered(world, forecast)


def _without_world(world: World, text: str) -> str:
    return text.replace(f"{world.name}: ", "") if world.name else text


def _forecast(comparison: Comparison, world: World, scale: NoiseScale) -> Iterator[str]:
    rows = [row for row in comparison.rows_of(world) if row.forecast_slowdown and row.arm != world.best]
    slowest = max(rows, key=_forecast_mean)
    assert slowest.forecast_slowdown is not None
    written = write_amount(slowest.forecast_slowdown, null=1.0)
    measure = "the time" if comparison.clock.differs else "the rounds"
    says = with_range(f"{written.mean} times {measure} for {in_short(world, slowest)}", written.ends)
    noise = write_scale(scale.estimate).text
    source = _without_world(world, scale.source)
    yield in_world(world, f"The noise-scale law forecasts {says}, with B = {noise} from {source}.")
    yield from _errors(world, rows)


def _forecast_mean(row: Row) -> float:
    assert row.forecast_slowdown is not None
    return row.forecast_slowdown.mean


def _errors(world: World, rows: Sequence[Row]) -> Iterator[str]:
    """Say how far off forecasts were of arms that came to the goal in rounds which B was not made from."""
    errors = {spoken(world.short(row.arm)): row.forecast_error for row in rows if row.forecast_error is not None}
    if not errors:
        return
    worst = max(errors, key=lambda arm: abs(errors[arm]))
    others = f", the furthest off of {len(errors)} arms that" if len(errors) > 1 else ", which"
    found = f"{_off(errors[worst])} for {worst}{others} came to the goal in rounds that B was not made from"
    yield in_world(world, f"The forecast is {found}.")


def _off(error: float) -> str:
    return f"{percent(abs(error))} too {'high' if error > 0 else 'low'}"


def _not_covered(world: World, forecast: Forecast) -> Iterator[str]:
    """Say which arms the law leaves out and why, if it says anything of others."""
    by_reason: dict[str, list[str]] = {}
    for arm, why in forecast.outside.items():
        by_reason.setdefault(why, []).append(spoken(world.short(arm)))
    if forecast.scale and forecast.slowdowns and by_reason:
        parts = (f"{listed(arms)}, which {why}" for why, arms in by_reason.items())
        yield in_world(world, f"The law does not cover {'; nor '.join(parts)}.")
