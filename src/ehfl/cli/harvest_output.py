"""What `ehfl harvest` shows: tables, sentences, JSON, figures, and lines for a spec."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ehfl.cli.output import print_sentences, print_table, say_where
from ehfl.files import json_text

if TYPE_CHECKING:
    from ehfl.arrays import FloatArray
    from ehfl.energy.fitting import Fit, Fits
    from ehfl.energy.survey import Survey
    from ehfl.energy.trace import Trace


def show_fits(trace: Trace, fits: Fits, figure: Path | None, *, as_json: bool) -> None:
    """Show both models beside what was measured."""
    from ehfl.report import column_table, draw_fit, fit_verdict, model_table

    if figure is not None:  # before anything is printed, since nobody may read it to its end
        draw_fit(fits, figure, day=_by_time_of_day(trace), about=repr(trace))
        say_where("figure", figure)
    if as_json:
        typer.echo(json_text(_fit_facts(trace, fits, fit_verdict(fits))))
        return
    print_table(repr(trace), model_table(fits))
    typer.echo()
    print_table("fitted", column_table(fits))
    print_sentences([fit_verdict(fits)], style="bold")
    for line in ("", *spec_lines(fits)):  # as they are, since TOML does not go on in the next line
        typer.echo(line)


def spec_lines(fits: Fits) -> list[str]:
    """Return the lines of a spec that the better model is written in, none where nothing was fitted."""
    from ehfl.quantities import as_energy, as_time, quantity

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


def _by_time_of_day(trace: Trace) -> FloatArray | None:
    """Return the power of each hour of a day, (24, n_days n_columns) [W], None of less than two days.

    Hours are counted from midnight, so that days begin with the first one in the record.
    """
    import numpy as np

    from ehfl.energy.trace_file import DAY

    first = -trace.record.start % DAY
    days = int((trace.record.duration - first) // DAY)
    if days < 2:
        return None
    columns = np.arange(len(trace.record.names))
    edges = first + np.arange(24 * days + 1) * 3600.0
    power = trace.record.energy.between(edges, columns) / 3600.0 * trace.scale
    by_hour: FloatArray = power.reshape(days, 24, -1).transpose(1, 0, 2).reshape(24, -1)
    return by_hour


def _fit_facts(trace: Trace, fits: Fits, verdict: str) -> dict[str, Any]:
    return {
        "trace": str(trace.record.path),
        "round_length": fits.round_length,
        "unit": fits.unit,
        "spread": fits.spread,
        "all": _facts_of(fits.together),
        "columns": [_facts_of(fit) for fit in fits.columns],
        "verdict": verdict,
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
        "bic": {"bernoulli": fit.bic("bernoulli"), "markov": fit.bic("markov")},
        "better": fit.better,
        "runs": {state: {"seen": len(all_), "mean": float(all_.mean()) if len(all_) else None}
                 for state, all_ in runs.items()},
        "run_lengths_miss": {"bernoulli": fit.misses("bernoulli"), "markov": fit.misses("markov")},
        "time_of_day": fit.time_of_day,
    }  # fmt: skip


def show_survey(survey: Survey, figure: Path | None, *, as_json: bool) -> None:
    """Show what a harvest brings."""
    from ehfl.quantities import as_time
    from ehfl.report import draw_survey, survey_sentences, survey_table

    if figure is not None:
        draw_survey(survey, figure)
        say_where("figure", figure)
    if as_json:
        typer.echo(json_text(_survey_facts(survey)))
        return
    clients = survey.whom()
    print_table(f"{survey.harvest}, {clients}, rounds of {as_time(survey.round_length)}", survey_table(survey))
    print_sentences(survey_sentences(survey))


def _survey_facts(survey: Survey) -> dict[str, Any]:
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
