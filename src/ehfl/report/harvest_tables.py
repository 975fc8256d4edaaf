"""Harvests for the terminal: models fitted to traces, and what a harvest brings by month."""

from __future__ import annotations

import math

from ehfl.analysis.numbers import DASH, amount, percent
from ehfl.energy.fitting import Fit, Fits, Fitted, Model, State
from ehfl.energy.survey import Survey
from ehfl.quantities import as_energy, as_time
from ehfl.report.harvest_scales import Scale, energy_scale, power_scale
from ehfl.report.tables import SideBySide
from ehfl.validation import short

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MODELS: tuple[Model, Model] = ("bernoulli", "markov")
_MOST_COLUMNS = 12  # of a trace that a terminal is filled with


def model_table(fits: Fits) -> SideBySide:
    """Return what was measured, over all columns together, beside what each model makes of it."""
    fit = fits.together
    lines = [
        ("rounds that are on", (percent(fit.rate.value),) * 3),
        ("rounds on in a row", _three(fit, "on")),
        ("rounds off in a row", _three(fit, "off")),
        ("run lengths miss by", ("", *(_share(fit.misses(model)) for model in _MODELS))),
        ("set by time of day", (_share(fit.time_of_day), *(["0 %"] * 2 if fit.time_of_day >= 0 else [DASH] * 2))),
        ("spread of on energy", (_share(fits.spread), "0 %", "0 %")),
        ("BIC", ("", *(amount(round(fit.bic(model), 1)) for model in _MODELS))),
    ]
    on = f"on: at least {as_energy(fits.unit)} in a round of {as_time(fits.round_length)}"
    return SideBySide(("measured", "Bernoulli", "Markov"), tuple(lines), f"{on}; {fit.rounds:,} rounds")


def column_table(fits: Fits) -> SideBySide:
    """Return the parameters fitted to all columns together and to each, a line a column."""
    several = fits.columns if len(fits.columns) > 1 else ()
    shown = [fits.together, *several[:_MOST_COLUMNS]]
    left_out = len(several) - _MOST_COLUMNS
    names = ("rate", "stay_on", "stay_off", "BIC gained", "by clock")
    cells = [
        (
            *(_fitted(found) for found in (fit.rate, fit.stay_on, fit.stay_off)),
            amount(round(fit.bic("bernoulli") - fit.bic("markov"), 1)),
            _share(fit.time_of_day),
        )
        for fit in shown
    ]
    more = f"; {left_out} more columns in --json" if left_out > 0 else ""
    caption = f"rate: Bernoulli's, stay: Markov's, ± standard errors; BIC gained by Markov{more}"
    labels = (
        "all together" if several else short(fits.columns[0].name, 20),
        *(short(fit.name, 20) for fit in shown[1:]),
    )
    return SideBySide(names, tuple(zip(labels, cells, strict=True)), caption)


def _three(fit: Fit, state: State) -> tuple[str, ...]:
    """Return the mean length of runs as measured and by each model."""
    lengths = fit.on_runs if state == "on" else fit.off_runs
    return amount(float(lengths.mean())) if lengths.size else DASH, *(_length(fit, model, state) for model in _MODELS)


def _fitted(found: Fitted) -> str:
    if math.isnan(found.value):
        return DASH
    decimals = max(3, 1 - math.floor(math.log10(found.error))) if found.error else 3
    return f"{found.value:.{decimals}f}\n± {found.error:.{decimals}f}"


def _length(fit: Fit, model: Model, state: State) -> str:
    go_on = fit.chance_to_go_on(model, state)
    return amount(1 / (1 - go_on)) if go_on < 1 else DASH  # NaN is not


def _share(share: float) -> str:
    return DASH if math.isnan(share) else percent(share)


def survey_table(survey: Survey) -> SideBySide:
    """Return what a harvest brings: over all that was looked at, and by month where it has a calendar."""
    rows = [("mean", float(survey.means.mean()), _mean_day(survey), survey.without)]
    rows += [(MONTHS[int(one["month"]) - 1], one["mean"], one["day"], one["without"]) for one in survey.months()]
    power, energy = _scales(survey)
    has_days = bool(len(survey.days))
    lines = [
        (label, (power.text(mean), *([energy.text(day)] if has_days else []), percent(without)))
        for label, mean, day, without in rows
    ]
    names = ("power" if survey.in_watts else "units a round", *(["a day"] if has_days else []), "rounds without")
    return SideBySide(names, tuple(lines))


def _mean_day(survey: Survey) -> float:
    return float(survey.days.mean()) if len(survey.days) else math.nan


def _scales(survey: Survey) -> tuple[Scale, Scale]:
    """Return in what to count what comes at a time, and in a day."""
    if not survey.in_watts:
        return Scale(1.0, ""), Scale(1.0, "units")
    return power_scale(float(survey.means.mean())), energy_scale(_mean_day(survey))
