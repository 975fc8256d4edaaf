"""`ehfl report`: tables, figures and page again from run folders."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ehfl import user_code
from ehfl.cli.options import RUNS, AsJson, Clairvoyant, Full, Given, command, named_by_option
from ehfl.cli.output import check_folder, print_results, say_if_planning_compiles, say_left_out, with_possible
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import number, path
from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    from ehfl.analysis import Comparison


@command("Table, figures and page again from run folders.")
def report(
    given: Given,
    run: Annotated[list[Path], Argument(metavar="RUN", parser=path, help="Run folders.")],
    out: Annotated[
        Path | None,
        Option(metavar="FOLDER", parser=path, help="Where to write [the only RUN, else report]."),
    ] = None,
    goal: Annotated[
        float | None,
        Option(metavar="VALUE", parser=number, help="Count the rounds to this value of the metric [the spec's]."),
    ] = None,
    clairvoyant: Clairvoyant = False,
    trust: Annotated[bool, Option("--trust", help="Let --clairvoyant run user classes that RUN names.")] = False,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    r"""Build the table, the figures and the page again from run folders, several together if you like.

    RUN is a folder that ehfl compare or ehfl train wrote: an experiment's (runs/demo) or a single run's (runs/noniid).
    Nothing is trained. Runs that failed or are not finished are left out and named.

    \b
    Examples:
      ehfl report runs/demo
      ehfl report runs/demo --goal 0.9 --full
      ehfl report runs/paper runs/paper-capacity1 --out together
    """
    from ehfl.analysis import read
    from ehfl.report import write_report

    for folder in run:
        if not folder.is_dir():
            raise InvalidValue("RUN", "a folder that ehfl compare or ehfl train wrote", folder)
    if goal is not None and not math.isfinite(goal):
        raise InvalidValue("--goal", "a finite number", goal)
    place = out or (run[0] if len(run) == 1 else Path("report"))
    check_folder("RUN" if place is run[0] else "--out", place)
    with named_by_option({"goal": "--goal"}):
        compared = read(*run, goal=goal)
    if clairvoyant:
        compared = _with_possible(run, compared, trust)
    on_devices = any(trial.devices for arm in compared.arms for trial in arm.trials)  # no command plays them again
    page = write_report(compared, place, [*([] if on_devices else compare_again(run)), given.again()])
    print_results(compared, page, as_json, full=full)
    for folder in run:
        say_left_out(folder)


def _with_possible(runs: Sequence[Path], comparison: Comparison, trust: bool) -> Comparison:
    from ehfl.experiment import read_spec
    from ehfl.experiment.play import check_best
    from ehfl.runs import SPEC

    with user_code.allowed(trust, "--trust"):
        with own_prints_aside():
            specs = [read_spec(folder / SPEC) for folder in runs]
            check_best(*specs)
        say_if_planning_compiles()
        return with_possible(specs, comparison)


def compare_again(runs: Sequence[Path]) -> list[str]:
    """Return the commands that train the runs again, in the same folders; none for runs of ehfl train."""
    commands = []
    for folder in (run if run.name not in ("", "..") else run.resolve() for run in runs):
        if (folder / "spec.toml").exists() and not (folder / "meta.json").exists():
            place = [] if folder.parent == RUNS else ["--runs", str(folder.parent)]
            commands.append(shlex.join(["ehfl", "compare", str(folder / "spec.toml"), *place]))
    return commands
