"""Harvests in the terminal: what one brings by month, and models fitted to a trace."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ehfl.analysis.units import Scale
from ehfl.energy.study.fitting import CLEAR, Fit, Fits, Fitted, Model, State
from ehfl.energy.study.survey import DAY, Survey
from ehfl.quantities import UNITS, as_energy, as_power, as_time, quantity
from ehfl.report.tables.output import Column, Output, number_column, table_of
from ehfl.report.tables.render import Table, side_by_side
from ehfl.report.write import DASH, amount, percent
from ehfl.validation import short

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MODELS: dict[Model, str] = {"bernoulli": "Bernoulli", "markov": "Markov"}
_MOST_COLUMNS = 12  # of a trace that a terminal is filled with
_POOR = 0.2  # of run lengths that miss the measured ones
_BY_CLOCK = 0.1  # of on and off that the time of day explains
_WEEK = 7  # days
_LESS = 0.05  # of the mean, from which on it is worth saying that what was looked at has another one


def power_scale(typical: float) -> Scale:
    """Return the unit for powers of about `typical` watts.

    >>> power_scale(0.52), power_scale(1.6)
    (Scale(unit='mW', size=0.001), Scale(unit='W', size=1.0))
    """
    unit = as_power(typical).split()[-1]
    return Scale(unit, UNITS["W"][unit])


def energy_scale(typical: float) -> Scale:
    """Return the unit for energies of about `typical` joules."""
    unit = as_energy(typical).split()[-1]
    return Scale(unit, UNITS["J"][unit])


# What a harvest brings.


def survey_output(survey: Survey) -> Output:
    """Return what `ehfl harvest show` prints."""
    title = f"{survey.harvest}, {survey.clients_text()}, rounds of {as_time(survey.round_length)}"
    table = survey_table(survey)
    return Output((title, _mean(survey)), table, survey_verdict(survey), (), "a figure: --figure FILE.png")


def survey_table(survey: Survey) -> Table:
    """Return the mean, each month where the harvest has a calendar, and the leanest week and day."""
    days, months = len(survey.days) > 0, survey.months()
    rows = {"mean": (float(survey.means.mean()), _mean_day(survey), survey.without)}
    rows |= {MONTHS[int(one["month"]) - 1]: (one["mean"], one["day"], one["without"]) for one in months}
    if len(survey.days) >= _WEEK:
        lean = {"leanest week": _WEEK, "leanest day": 1}
        rows |= {label: (math.nan, survey.leanest(length), math.nan) for label, length in lean.items()}
    power, energy = Scale("a round"), Scale("units")
    if survey.in_watts:
        power, energy = power_scale(float(survey.means.mean())), energy_scale(_mean_day(survey))

    def column(head: str, place: int, factor: float) -> Column:
        found = {label: None if math.isnan(row[place]) else row[place] for label, row in rows.items()}
        return number_column(head, found, factor)

    columns = [column(f"{'power' if survey.in_watts else 'units'}\n[{power.unit}]", 0, 1 / power.size)]
    columns += [column(f"a day\n[{energy.unit}]", 1, 1 / energy.size)] if days else []
    return table_of([*columns, column("rounds\nwithout [%]", 2, 100)], list(rows))


def _mean_day(survey: Survey) -> float:
    return float(survey.days.mean()) if len(survey.days) else math.nan


def _mean(survey: Survey) -> str:
    """Return the mean, from client to client, and the long-run mean where that is another one."""
    low, high, stated = float(survey.means.min()), float(survey.means.max()), float(survey.stated.mean())
    write, unit = (as_power, "") if survey.in_watts else (amount, " units a round")
    ends = dict.fromkeys((write(low), write(high)))
    between = f"{' to '.join(ends)}{unit}{' by client' if len(ends) > 1 else ''}"
    days = len(survey.steps)
    time = as_time(survey.cycle) if survey.cycle != DAY else "a year" if days == 365 else f"{days} days"
    long_run = f"; in the long run {write(stated)}{unit}" if abs(survey.means.mean() - stated) > _LESS * stated else ""
    return f"The mean over {time} is {between}{long_run}."


def survey_verdict(survey: Survey) -> tuple[str, ...]:
    """Return the longest time without harvest, where there is one."""
    longest = survey.longest_without() if len(survey.days) >= _WEEK else 0.0
    return (f"The longest time without any harvest is {as_time(longest)}.",) if longest else ()


def survey_facts(survey: Survey) -> dict[str, Any]:
    """Return everything for JSON."""
    return {
        "harvest": survey.harvest,
        "clients": survey.clients,
        "round_length": survey.round_length,
        "unit": "W" if survey.in_watts else "units a round",
        "means": survey.means.tolist(),
        "stated_means": survey.stated.tolist(),
        "rounds_without": survey.without,
        "days": survey.days.mean(axis=1).tolist(),
        "day": survey.steps.mean(axis=(0, 2)).tolist(),
        "day_begins": survey.first_second,
        "leanest_day": survey.leanest(1),
        "leanest_week": survey.leanest(7),
        "longest_without": survey.longest_without(),
        "months": survey.months(),
    }


# Models fitted to a trace.


def fit_output(trace: str, fits: Fits) -> Output:
    """Return what `ehfl harvest fit` prints."""
    on = f"on: at least {as_energy(fits.unit)} in a round of {as_time(fits.round_length)}"
    rounds = f"{fits.together.rounds:,} rounds; energy of rounds that are on varies by {_share(fits.spread)}"
    table = model_table(fits)
    hint = "a figure: --figure FILE.png"
    return Output(
        (trace, f"{on}; {rounds}."),
        table,
        (fit_verdict(fits),),
        (table, column_table(fits)),
        hint,
        tuple(spec_lines(fits)),
    )


def model_table(fits: Fits) -> Table:
    """Return what was measured over all columns together, and what each model makes of it."""
    fit, names = fits.together, ["measured", *MODELS.values()]

    def column(head: str, values: tuple[float | None, ...], factor: float = 1.0) -> Column:
        known = (None if value is None or math.isnan(value) else value for value in values)
        return number_column(head, dict(zip(names, known, strict=True)), factor)

    clock = None if math.isnan(fit.time_of_day) else 0.0
    columns = [
        column("rounds\non [%]", (fit.rate.value,) * 3, 100),
        column("on in\na row", _runs(fit, "on")),
        column("off in\na row", _runs(fit, "off")),
        column("runs miss\nby [%]", (None, *(fit.misses(model) for model in MODELS)), 100),
        column("set by time\nof day [%]", (fit.time_of_day, clock, clock), 100),
        column("\nBIC", (None, *(round(fit.bic(model), 1) for model in MODELS))),
    ]
    return table_of(columns, names)


def _runs(fit: Fit, state: State) -> tuple[float | None, ...]:
    """Return the mean length of runs as measured and by each model."""
    lengths = fit.on_runs if state == "on" else fit.off_runs
    go_on = [fit.chance_to_go_on(model, state) for model in MODELS]
    modelled = [1 / (1 - chance) if chance < 1 else None for chance in go_on]  # NaN is not
    return float(lengths.mean()) if lengths.size else None, *modelled


def column_table(fits: Fits) -> Table:
    """Return the parameters fitted to all columns together and to each, a line a column."""
    several = fits.columns if len(fits.columns) > 1 else ()
    shown = [fits.together, *several[:_MOST_COLUMNS]]
    left_out = len(several) - _MOST_COLUMNS
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
    first = "all together" if several else short(fits.columns[0].name, 20)
    labels = (first, *(short(fit.name, 20) for fit in shown[1:]))
    names = ("rate", "stay_on", "stay_off", "BIC gained", "by clock")
    return side_by_side(names, zip(labels, cells, strict=True), caption)


def _fitted(found: Fitted) -> str:
    if math.isnan(found.value):
        return DASH
    decimals = max(3, 1 - math.floor(math.log10(found.error))) if found.error else 3
    return f"{found.value:.{decimals}f}\n± {found.error:.{decimals}f}"


def _share(share: float) -> str:
    return DASH if math.isnan(share) else percent(share)


def fit_verdict(fits: Fits) -> str:
    """Return in a sentence which model to take, and what it lacks."""
    fit, better = fits.together, fits.together.better
    gain = fit.bic("bernoulli") - fit.bic("markov")
    if fit.rate.value in (0, 1):
        return f"Every round is {'on' if fit.rate.value else 'off'}: there is nothing to fit; --unit draws the line."
    first = f"Bernoulli fits as well as Markov (BIC differs by {amount(abs(gain))})"
    if abs(gain) > CLEAR:
        other, far = ("Bernoulli", "Markov")[better == "bernoulli"], "far " if abs(gain) > 10 * CLEAR else ""
        first = f"{MODELS[better]} fits {far}better than {other} (BIC lower by {amount(round(abs(gain)))})"
    lacks = []
    if fit.time_of_day > _BY_CLOCK:  # NaN is not
        lacks.append(f"the time of day sets {percent(fit.time_of_day)} of on and off, which neither knows")
    if fit.misses(better) > _POOR:
        lacks.append(f"its run lengths miss the measured ones by up to {percent(fit.misses(better))}")
    if not lacks:
        return f"{first}, and its run lengths are those of the trace."
    return f"{first}, but {', and '.join(lacks)}: play the trace itself where that matters."


def spec_lines(fits: Fits) -> list[str]:
    """Return the lines of a spec that the better model is written in, none where nothing was fitted."""
    fit = fits.together
    if fit.rate.value in (0, 1):
        return []
    stays = f"stay_on = {fit.stay_on.value:.4g}, stay_off = {fit.stay_off.value:.4g}"
    parameters = stays if fit.better == "markov" else f"rate = {fit.rate.value:.4g}"
    length = as_time(fits.round_length)
    exact = f'"{length}"' if quantity("", length, "s") == fits.round_length else f"{fits.round_length!r}"
    return [
        "[fleet]",
        f"round_length = {exact}",
        f'arrival = "{as_energy(fit.arrival)}"',
        f'harvest = {{ name = "{fit.better}", {parameters} }}',
    ]


def fit_facts(trace: str, fits: Fits) -> dict[str, Any]:
    """Return everything for JSON; `trace` is the file's path."""
    return {
        "trace": trace,
        "round_length": fits.round_length,
        "unit": fits.unit,
        "spread": fits.spread,
        "all": _facts_of(fits.together),
        "columns": [_facts_of(fit) for fit in fits.columns],
        "verdict": fit_verdict(fits),
        "spec": spec_lines(fits),
    }


def _facts_of(fit: Fit) -> dict[str, Any]:
    runs = {"on": fit.on_runs, "off": fit.off_runs}
    return {
        "name": fit.name,
        "rounds": fit.rounds,
        "energy": fit.energy,
        "arrival": fit.arrival,
        "rate": dataclasses.asdict(fit.rate),
        "stay_on": dataclasses.asdict(fit.stay_on),
        "stay_off": dataclasses.asdict(fit.stay_off),
        "log_likelihood": fit.log_likelihood,
        "bic": {model: fit.bic(model) for model in MODELS},
        "better": fit.better,
        "runs": {state: {"seen": len(all_), "mean": float(all_.mean()) if len(all_) else None}
                 for state, all_ in runs.items()},
        "run_lengths_miss": {model: fit.misses(model) for model in MODELS},
        "time_of_day": fit.time_of_day,
    }  # fmt: skip
