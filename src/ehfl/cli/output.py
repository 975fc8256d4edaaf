"""What commands print: notes while they work, tables, how runs ended, and where files were written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import typer

from ehfl.cli.streams import own_prints_aside
from ehfl.validation import InvalidValue, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ehfl.analysis import Comparison
    from ehfl.experiment import Outcome, Spec
    from ehfl.report.tables.output import Output
    from ehfl.scheduling import Scheduler

_WIDTH = 100  # of what is printed, however wide the terminal
_NARROWEST = 40  # however narrow; some terminals say 0
FIGURES = (".png", ".svg", ".pdf")


def check_figure(path: Path | None) -> None:
    """Refuse, before the work starts, a figure that could not be written, if one is wanted."""
    if path is None:
        return
    if path.suffix.lower() not in FIGURES:
        raise InvalidValue("--figure", f"a file name that ends in {', '.join(FIGURES)}", path)
    if not path.parent.is_dir():
        raise InvalidValue("--figure", "in a folder that exists", path)


def check_folder(option: str, path: Path | None) -> None:
    """Refuse, before the work starts, a folder that is a file, or could neither be made nor written to."""
    if path is None:
        return
    there = next(place for place in (path, *path.parents) if place.exists())
    if not there.is_dir():
        raise InvalidValue(option, "a folder", f"{path}, a file" if there == path else f"{path}, and {there} is a file")
    if not os.access(there, os.W_OK):
        raise InvalidValue(option, "a folder that can be written to", path)


def say(note: str) -> None:
    """Tell the user something beside the results, if there is anything to tell."""
    if note:
        typer.echo(note, err=True)


def say_if_compiling(n_clients: int) -> None:
    """Tell the user why the first large fleet takes its time, if its kernels have not been compiled yet."""
    from ehfl.randomness import TILE

    if n_clients > TILE:
        _say_if_not_cached("scheduling.kernels.longest", "for large fleets (about 20 s")


def say_if_planning_compiles() -> None:
    """Tell the user why the first look at what was possible takes its time."""
    _say_if_not_cached("planning.kernels.even_out", "that even out turns (about 10 s")


def _say_if_not_cached(name: str, what: str) -> None:
    from ehfl.compiled import kernel_folder, kernels_are_cached

    if not kernels_are_cached(name):
        often = "once" if kernel_folder() else "every time, unless NUMBA_CACHE_DIR names a folder to keep them in"
        typer.echo(f"compiling kernels {what}, {often})", err=True)


def say_if_blind(label: str, scheduler: Scheduler) -> None:
    """Tell the user that a scheduler which chooses by losses is played without any."""
    from ehfl.scheduling import wants_losses

    if wants_losses(scheduler):
        typer.echo(f"{label} chooses by losses, which only training gives: none are known here", err=True)


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure, and tell the user where."""
    from ehfl.report.figures import style

    style.save(figure, path)
    say_where("figure", path)


def say_where(what: str, path: Path, *, more: int = 0, err: bool = True) -> None:
    """Tell the user where something was written, and how many files besides."""
    typer.echo(f"{what}: {visible(str(path))}{f' and {more} more' if more else ''}", err=err)


def print_output(output: Output, *, full: bool = False) -> None:
    """Print facts, the compact table or every row, the verdict, and what to type next; at most 100 columns."""
    from rich.console import Console

    console = Console()
    width = min(max(console.width, _NARROWEST), _WIDTH) if console.is_terminal or "COLUMNS" in os.environ else _WIDTH
    title, *facts = output.facts
    for line in fill(title, width).splitlines():
        console.print(line, style="bold", markup=False, highlight=False, soft_wrap=True)
    _print_wrapped(facts, width)
    for table in (full and output.full) or (output.table,):
        typer.echo(f"\n{table.text(width)}")
    typer.echo()
    _print_wrapped(output.verdict, width)
    for line in ("", *output.lines) if output.lines else ():
        typer.echo(line)
    hints = [*filter(None, [output.next]), *(["every row: --full"] if output.full and not full else [])]
    if hints:
        typer.echo("\nnext: " + "\n      ".join(hints))


def _print_wrapped(sentences: Sequence[str], width: int) -> None:
    """Print sentences of which no line ends between a number and its unit."""
    from ehfl.report.tables.output import unbroken

    for sentence in sentences:
        typer.echo(fill(unbroken(sentence), width).replace("\u00a0", " "))


def print_results(compared: Comparison, page: Path, as_json: bool, *, full: bool = False) -> None:
    """Print a comparison: the compact table or every row, the verdict and where the page lies; or JSON."""
    if as_json:
        from ehfl.files import json_text
        from ehfl.report import as_facts

        typer.echo(json_text(as_facts(compared)))
    else:
        from ehfl.report import comparison_table, verdict_of
        from ehfl.report.folder import TEXTS
        from ehfl.report.tables.compact import compact_table
        from ehfl.report.tables.output import Output

        table = compact_table(compared)
        every = (comparison_table(compared),) if full else ()
        hint = "" if full else f"every row: --full, or {visible(str(page.parent / TEXTS[-1]))}"
        print_output(Output((table.title,), table, tuple(verdict_of(compared)), every, hint), full=full)
    say_where("report", page, err=as_json)


@contextmanager
def resumable() -> Iterator[None]:
    """Tell a user who stops the work inside that nothing of it is lost."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on from here", err=True)
        raise


def show_outcomes(
    spec: Spec,
    folder: Path,
    outcomes: Sequence[Outcome],
    command: str,
    as_json: bool,
    *,
    possible: bool = False,
    full: bool = False,
) -> None:
    """Write the report on the runs in the folder, print their table, name those that failed.

    `command` does it all again; shares of what was `possible` are there where asked for.
    """
    from ehfl.analysis import read
    from ehfl.report import write_report

    failed = say_failed(outcomes)
    if len(failed) < len(outcomes):
        compared = read(folder)
        if possible:
            compared = with_possible([spec], compared)
        print_results(compared, write_report(compared, folder, [command]), as_json, full=full)
        say_left_out(folder)
    if failed:
        ended = f"{len(failed)} of {len(outcomes)} runs failed, {len(outcomes) - len(failed)} finished"
        advice = "tracebacks are in their meta.json; the same command runs them again"
        typer.echo(f"{ended}: {advice}", err=True)
        raise typer.Exit(1)


def with_possible(specs: Sequence[Spec], comparison: Comparison) -> Comparison:
    """Return the comparison of these specs' runs with each arm's share of what was possible."""
    from ehfl.analysis.rows import with_shares
    from ehfl.experiment.play import shares_of

    with own_prints_aside():
        return with_shares(comparison, shares_of(specs, comparison))


def say_failed(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the runs that failed, and tell the user of each."""
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        typer.echo(f"ehfl: error: {outcome.arm} seed {outcome.seed} failed: {outcome.error}", err=True)
    return failed


def say_left_out(folder: Path) -> None:
    """Tell the user which runs in the folder its spec does not name, so that no report has them."""
    from ehfl.analysis import unlisted_runs

    if others := unlisted_runs(folder):
        count = f"{len(others)} run{'s' if len(others) > 1 else ''}"
        some = f"{', '.join(others[:3])}{', ...' if len(others) > 3 else ''}"
        line = f"not in this report: {count} in {folder} that its spec.toml does not name ({some})"
        typer.echo(visible(line), err=True)
