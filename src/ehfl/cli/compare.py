"""`ehfl compare`: schedulers side by side on a task. The main job."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ehfl.cli.live import live
from ehfl.cli.options import RUNS, AsJson, Override, named_by_option, whole
from ehfl.cli.output import print_results

# The \b in it keeps the lines that follow as they are.
HELP = """Train a task under several schedulers and seeds, and compare: a table, figures and a page.

SPEC is a TOML file (see experiments/ and docs/experiments.md); without one, the demo: the paper's schedulers and mains
power on the bundled digits. Arms meet the same weather for the same seed unless they change it. Runs lie in
RUNS/<name>; stopped or killed, the same command goes on where it was, and runs that are finished are not run again.

\b
Examples:
  ehfl compare
  ehfl compare -o seeds=2 -o rounds=50 -o learning.local_steps=1 -o name=k1
  ehfl compare -o name=two -o "schedulers=['myopic', 'round-robin:1', 'mine:Reserve:units=3']"
  ehfl compare experiments/paper.toml --data ~/cifar --jobs 2
  ehfl compare experiments/heterogeneous.toml --on ray
"""


class Place(StrEnum):
    """Where runs are run."""

    local = "local"
    ray = "ray"


def compare(
    spec: Annotated[Path | None, Argument(metavar="SPEC", help="A TOML file [the demo].", show_default=False)] = None,
    override: Override = None,
    data: Annotated[
        str | None, Option(metavar="FOLDER", help="Where the task's data lie [$EHFL_DATA, else downloaded].")
    ] = None,
    runs: Annotated[Path, Option(metavar="FOLDER", help="Where experiments are kept.")] = RUNS,
    jobs: Annotated[
        int | None, Option("--jobs", "-j", metavar="N", parser=whole, help="Runs at a time [one a core].")
    ] = None,
    on: Annotated[Place, Option(help="Where to run: this machine, or a Ray cluster (extra ray).")] = Place.local,
    as_json: AsJson = False,
) -> None:
    """Train a task under several schedulers and seeds, and compare."""
    from ehfl.analysis import read_results, unlisted_runs
    from ehfl.experiment import begin_process, read_spec, run_all
    from ehfl.report import write_report

    overrides = [*(override or ()), *([f"learning.data={json.dumps(data)}"] if data else ())]
    read = read_spec(spec, overrides)
    folder = runs / read.name
    names = {"jobs": "--jobs"} | ({"learning.data": "--data"} if data else {})
    totals = {arm.label: len(read.seeds) * arm.setting.rounds for arm in read.arms}
    try:
        begin_process()  # with a single job runs are run in this process
        with named_by_option(names), live(totals) as show:
            outcomes = run_all(read, folder, jobs=jobs, on=on.value, on_look=show)
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on from here", err=True)
        raise
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        typer.echo(f"ehfl: error: {outcome.arm} seed {outcome.seed} failed: {outcome.error}", err=True)
    if len(failed) < len(outcomes):
        results = read_results([folder])
        written = write_report(results, folder, [_again(spec, overrides, runs)])
        print_results(results.comparison, written, as_json)
    if others := unlisted_runs([run.folder_name for run in read.runs()], folder):
        some = f"{', '.join(others[:3])}{', ...' if len(others) > 3 else ''}"
        typer.echo(f"not in this report, of other arms or seeds: {len(others)} in {folder} ({some})", err=True)
    if failed:
        advice = "tracebacks are in their meta.json; the same command runs them again"
        typer.echo(f"{len(failed)} of {len(outcomes)} runs failed: {advice}", err=True)
        raise typer.Exit(1)


def _again(spec: Path | None, overrides: Sequence[str], runs: Path) -> str:
    """Return the command that does it all again."""
    place = [] if runs == RUNS else ["--runs", str(runs)]
    changes = [word for text in overrides for word in ("-o", text)]
    return shlex.join(["ehfl", "compare", *([str(spec)] if spec else []), *changes, *place])
