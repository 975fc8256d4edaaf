"""`ehfl report`: tables, figures and page again from run folders."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ehfl.cli.options import RUNS, AsJson
from ehfl.cli.output import check_folder, print_results
from ehfl.validation import InvalidValue, UserError

# The \b in it keeps the lines that follow as they are.
HELP = """Build the table, the figures and the page again from run folders, several together if you like.

RUN is a folder that ehfl compare wrote: an experiment's (runs/demo) or a single run's (runs/demo/myopic-s0). Nothing is
trained. Runs that failed or are not finished are left out and named.

\b
Examples:
  ehfl report runs/demo
  ehfl report runs/demo --goal 0.9
  ehfl report runs/paper runs/paper-capacity1 --out together
"""


def report(
    run: Annotated[list[Path], Argument(metavar="RUN", help="Run folders.")],
    out: Annotated[
        Path | None, Option(metavar="FOLDER", help="Where to write [the only RUN, else report].", show_default=False)
    ] = None,
    goal: Annotated[
        float | None, Option(metavar="VALUE", help="Count the rounds to this value of the metric [the spec's].")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build the table, the figures and the page again from run folders."""
    from ehfl.experiment import read_results
    from ehfl.report.writing import write_report

    for folder in run:
        if not folder.is_dir():
            raise UserError(f"RUN must be a folder that ehfl compare wrote, got {folder}")
    if goal is not None and not math.isfinite(goal):
        raise InvalidValue("goal", "a finite number", goal)
    place = out or (run[0] if len(run) == 1 else Path("report"))
    check_folder("out", place)
    results = read_results(run, goal)
    print_results(results.comparison, write_report(results, place, again(run, place, goal)), as_json)


def again(runs: Sequence[Path], place: Path, goal: float | None) -> list[str]:
    """Return the commands that do it all again, in the same folders."""
    counted = [] if goal is None else ["--goal", str(goal)]
    experiments = dict.fromkeys(_named(run / ".." if (run / "meta.json").exists() else run) for run in runs)
    trained = [_compare(folder) for folder in experiments if (folder / "spec.toml").exists()]
    return [*trained, shlex.join(["ehfl", "report", *map(str, runs), "--out", str(place), *counted])]


def _named(folder: Path) -> Path:
    """Return the folder by a path that ends in its name, which neither "." nor ".." does."""
    tidy = Path(os.path.normpath(folder))
    return tidy if tidy.name not in ("", "..") else folder.resolve()


def _compare(experiment: Path) -> str:
    from ehfl.experiment import read_stored

    place = [] if experiment.parent == RUNS else ["--runs", str(experiment.parent)]
    moved = read_stored(experiment / "spec.toml").name != experiment.name
    name = ["-o", f"name={experiment.name}"] if moved else []
    return shlex.join(["ehfl", "compare", str(experiment / "spec.toml"), *place, *name])
