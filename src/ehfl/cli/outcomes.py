"""What a command shows of how runs ended: results, what failed, and that it was stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ehfl.cli.output import print_results
from ehfl.cli.streams import own_prints_aside
from ehfl.validation import visible

if TYPE_CHECKING:
    from ehfl.analysis import Comparison
    from ehfl.experiment import Outcome, Spec


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
    from ehfl.analysis import read_results
    from ehfl.report import write_report

    failed = say_failed(outcomes)
    if len(failed) < len(outcomes):
        results = read_results([folder])
        if possible:
            results = replace(results, comparison=with_possible([spec], results.comparison))
        print_results(results.comparison, write_report(results, folder, [command]), as_json, full=full)
        say_left_out(folder)
    if failed:
        ended = f"{len(failed)} of {len(outcomes)} runs failed, {len(outcomes) - len(failed)} finished"
        advice = "tracebacks are in their meta.json; the same command runs them again"
        typer.echo(f"{ended}: {advice}", err=True)
        raise typer.Exit(1)


def with_possible(specs: Sequence[Spec], comparison: Comparison) -> Comparison:
    """Return the comparison of these specs' runs with each arm's share of what was possible."""
    from ehfl.analysis.possible import with_shares
    from ehfl.experiment.possible import shares_of

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
