"""`ehfl harvest`: models fitted to a trace, and what a harvest brings in a day and a year."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ehfl.cli.live import progress
from ehfl.cli.options import AsJson, Figure, Full, Given, command, named_by_option
from ehfl.cli.output import check_figure, print_output, say, write_figure
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import number, path, whole
from ehfl.files import json_text
from ehfl.validation import InvalidValue, whole_number

if TYPE_CHECKING:
    from ehfl.arrays import FloatArray
    from ehfl.energy.study.survey import Survey
    from ehfl.energy.traces.trace import Trace

_MOST_CLIENTS = 10_000_000
HELP = "What harvests bring: models fitted to a trace, a day and a year of any kind."
SHORT_HELP = "Fit models to a trace; a day and a year."


@command("Bernoulli and Markov, fitted to a trace.")
def fit(
    given: Given,
    trace: Annotated[Path, Argument(metavar="TRACE", parser=path, help="A trace: CSV, Parquet, ...")],
    watts: Annotated[float, Option(metavar="W", parser=number, help="What the file's power is multiplied by.")] = 1.0,
    column: Annotated[
        list[str] | None, Option(metavar="NAME", help="Take this column alone. Repeatable. [all]")
    ] = None,
    format_: Annotated[str, Option("--format", metavar="NAME", help="power, voltage or auto.")] = "auto",
    ohms: Annotated[
        float | None, Option(metavar="OHM", parser=number, help="What voltage falls across: P = V^2 / OHM.")
    ] = None,
    round_: Annotated[str, Option("--round", metavar="TIME", help="How long a round is: 900, 15min, 2h.")] = "1h",
    unit: Annotated[
        str | None,
        Option(metavar="ENERGY", help="What a round must bring to be on: 5, 20mJ, 0.1Wh [half its mean]."),
    ] = None,
    full: Full = False,
    as_json: AsJson = False,
    figure: Figure = None,
) -> None:
    r"""Fit Bernoulli and Markov on/off to a trace, and show how well they do.

    A round that brings at least --unit is on. Both models are fitted by maximum likelihood, to each column and to all
    together, and compared by BIC, by their run lengths and by what the time of day explains, which neither of them
    knows. The lines for a spec are printed too. docs/energy.md has the layouts of files and the equations.

    \b
    Examples:
      ehfl harvest fit roof.csv
      ehfl harvest fit cities.csv --watts 2 --round 30min --figure fit.png
      ehfl harvest fit cities.csv --column Berlin --column Lagos --unit "0.1 Wh"
      ehfl harvest fit rf_mementos_1.txt --round 100ms --json
    """
    from ehfl.energy.study.fitting import fit_trace
    from ehfl.energy.traces.trace import Trace

    check_figure(figure)
    round_length, least = _amount("--round", round_, "s"), None if unit is None else _amount("--unit", unit, "J")
    names = {"round_length": "--round", "unit": "--unit", "file": "TRACE"} | {
        name: f"--{name}" for name in ("watts", "format", "ohms")
    }
    with named_by_option(names | {"columns": "--column"}):
        if watts <= 0:
            raise InvalidValue("watts", "above 0", watts)
        columns = list(column) if column else None
        read = Trace(trace, watts, columns, format_, ohms)  # type: ignore[arg-type]  # refused there
        fits = fit_trace(read, round_length, least)
    if round_length < read.record.step:
        say(f"rounds are shorter than the trace's rows of {read.record.step:g} s: their states repeat each other")
    if figure is not None:  # written first: a closed pipe must not lose it
        from ehfl.report import fit_figure

        write_figure(fit_figure(fits, day=_by_time_of_day(read), about=repr(read)), figure)
    from ehfl.report.tables.harvest import fit_facts, fit_output

    if as_json:
        typer.echo(json_text(fit_facts(str(read.record.path), fits)))
    else:
        print_output(fit_output(repr(read), fits), full=full)


def _by_time_of_day(trace: Trace) -> FloatArray | None:
    """Return the power of each hour of a day, (24, n_days n_columns) [W], None of less than two days.

    Hours are counted from midnight, so that days begin with the first one in the record.
    """
    import numpy as np

    from ehfl.energy.traces.reader import DAY

    first = -trace.record.start % DAY
    days = int((trace.record.duration - first) // DAY)
    if days < 2:
        return None
    columns = np.arange(len(trace.record.names))
    edges = first + np.arange(24 * days + 1) * 3600.0
    power = trace.record.energy.between(edges, columns) / 3600.0 * trace.rated.numbers
    by_hour: FloatArray = power.reshape(days, 24, -1).transpose(1, 0, 2).reshape(24, -1)
    return by_hour


@command("A day and a year of a harvest.", seed=0)
def show(
    given: Given,
    what: Annotated[str, Argument(metavar="WHAT", help="A harvest, or a spec (TOML).")],
    clients: Annotated[
        int | None,
        Option("--clients", "-n", metavar="N", parser=whole, help="Clients to look at [the spec's, else 10]."),
    ] = None,
    round_: Annotated[
        str | None, Option("--round", metavar="TIME", help="How long a round is: 900, 15min, 2h [the spec's, else 1h].")
    ] = None,
    as_json: AsJson = False,
    figure: Figure = None,
) -> None:
    r"""Show what a harvest brings in a day and in a year: power or units, lean times, months.

    WHAT is a harvest as in --harvest of other commands, or a spec, whose fleet it is then. Kinds that know the calendar
    have a line for each month, and a map of every hour in the figure.

    \b
    Examples:
      ehfl harvest show bernoulli:0.1
      ehfl harvest show markov:stay_on=0.9,stay_off=0.95 --round 15min
      ehfl harvest show trace:file=roof.csv,watts=2 --clients 20 --figure roof.png
      ehfl harvest show mine.toml --json
    """
    check_figure(figure)
    if clients is not None:
        whole_number("--clients", clients, low=1, high=_MOST_CLIENTS)
    round_length = None if round_ is None else _amount("--round", round_, "s")
    with own_prints_aside(), named_by_option({"harvest": "WHAT", "round_length": "--round", "seed": "--seed"}):
        survey = _surveyed(what, given["override"] or [], clients, round_length, given["seed"])
    if figure is not None:
        from ehfl.report import survey_figure

        write_figure(survey_figure(survey), figure)
    from ehfl.report.tables.harvest import survey_facts, survey_output

    if as_json:
        typer.echo(json_text(survey_facts(survey)))
    else:
        print_output(survey_output(survey))


def _surveyed(what: str, overrides: list[str], clients: int | None, round_length: float | None, seed: int) -> Survey:
    from ehfl.energy import HARVESTS, check_harvest
    from ehfl.energy.study.survey import PARTS, survey
    from ehfl.randomness import check_seed
    from ehfl.registry import is_user_class

    check_seed(seed)
    if what.endswith(".toml"):
        harvest, of_spec, its_length = _of_spec(Path(what), overrides)
        if clients is not None:
            raise InvalidValue("--clients", "left out with a spec, which has it: use -o fleet.clients=N", clients)
    elif overrides:
        raise InvalidValue("--override", "left out without a spec", overrides[0])
    else:
        harvest, its_length = HARVESTS.make(what, "harvest"), None
        of_spec = clients or int(getattr(harvest, "n_clients", 10))
        if is_user_class(HARVESTS.table(what, "harvest")):
            check_harvest(harvest, clients=of_spec, quick=True)
    with progress("looking at rounds", 2 * PARTS) as advance:
        return survey(harvest, of_spec, round_length or its_length or 3600.0, seed, advance)


def _of_spec(file: Path, overrides: list[str]) -> tuple[Any, int, float | None]:
    """Return a spec's harvest, how many clients it has, and how long its rounds are where it says so."""
    from ehfl.energy import HARVESTS
    from ehfl.experiment import check_harvests, read_spec
    from ehfl.experiment.spec.build import harvest_table

    spec = read_spec(file, overrides)
    check_harvests(spec)
    setting = spec.base
    made = HARVESTS.make(harvest_table(setting), "fleet.harvest")
    return made, setting.fleet.clients, getattr(setting.fleet, "round_length", None)


def _amount(option: str, text: str, unit: str) -> float:
    """Return a positive amount from a number or a text with its unit."""
    from ehfl.quantities import quantity
    from ehfl.registry import literal

    found = quantity(option, literal(text), unit)
    if not 0 < found < float("inf"):
        raise InvalidValue(option, "above 0", text)
    return found
