"""From run folders back to trials, and from trials to a comparison."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehfl.experiment.building import constants_of, target_of
from ehfl.experiment.comparison import Comparison, Goal, compare
from ehfl.experiment.reading import read_stored
from ehfl.experiment.run_folder import RunFolder
from ehfl.experiment.spec import Spec
from ehfl.experiment.trials import Metric, Trial
from ehfl.history import Record, read_history
from ehfl.scheduling import Participation
from ehfl.validation import UserError, one_line


@dataclass(frozen=True, eq=False, slots=True)
class Results:
    """Finished runs side by side, with where they came from."""

    comparison: Comparison
    specs: tuple[Spec, ...]  # one an experiment
    metas: tuple[dict[str, Any], ...]  # one a run


@dataclass(frozen=True, slots=True)
class _Source:
    """A run that a spec names, in the folder where it should be."""

    label: str  # of its arm in this comparison
    run: Spec
    folder: RunFolder


def read_results(folders: Sequence[Path], goal: Goal | None = None) -> Results:
    """Put the finished runs of experiment folders (or of single runs) side by side.

    With several experiments, an arm is named after both: "paper: myopic". The goal is the first spec's unless given.
    """
    specs = [_spec_in(folder) for folder in folders]
    sources = [source for folder, spec in zip(folders, specs, strict=True) for source in _sources(folder, spec, specs)]
    found = [source for source in sources if source.folder.finished]
    if not found:
        raise UserError(f"no finished runs in {', '.join(map(str, folders))}")
    metas = tuple(source.folder.meta() for source in found)
    first, metric = specs[0], _metric(metas)
    compared = compare(
        " and ".join(dict.fromkeys(spec.name for spec in specs)),
        [_trial(source, meta) for source, meta in zip(found, metas, strict=True)],
        metric,
        target_of(first),
        goal=check_goal(first.evaluation.goal if goal is None else goal, metric),
        missing=[_named(source) for source in sources if source not in found],
        wanted_first=sources[0].label,
    )
    return Results(compared, tuple(specs), metas)


def unlisted_runs(spec: Spec, experiment: Path) -> list[str]:
    """Return the runs in an experiment's folder that its spec does not name any more: of earlier arms or seeds."""
    named = {RunFolder.of(run, experiment).path for run in spec.runs()}
    return sorted(path.parent.name for path in experiment.glob("*/meta.json") if path.parent not in named)


def _named(source: _Source) -> str:
    status = "failed" if source.folder.meta().get("status") == "failed" else "not finished"
    return f"{source.label} seed {source.run.seed} ({status})"


def check_goal(goal: Goal, metric: Metric) -> Goal:
    """Refuse a goal that no run could come to."""
    if goal != "auto" and metric.name == "accuracy" and not 0 <= goal <= 1:
        raise UserError(f"the goal must be an accuracy in [0, 1], got {goal:g}")
    return goal


def _spec_in(folder: Path) -> Spec:
    if not (folder / "spec.toml").is_file():
        raise UserError(f"{folder} is not a run folder: it has no spec.toml")
    return read_stored(folder / "spec.toml")


def _sources(folder: Path, spec: Spec, specs: Sequence[Spec]) -> Iterator[_Source]:
    several = len({other.name for other in specs}) > 1
    single = (folder / "meta.json").exists()  # a run's own folder, not an experiment's
    for run in spec.runs():
        label = f"{spec.name}: {run.arm.label}" if several else run.arm.label
        yield _Source(label, run, RunFolder(folder) if single else RunFolder.of(run, folder))


def _trial(source: _Source, meta: dict[str, Any]) -> Trial:
    folder, run = source.folder, source.run
    folder.check_free_for(run)
    try:
        records, played = _recorded(folder, run.rounds)
    except (UserError, FileNotFoundError) as error:
        raise UserError(f"{one_line(error)}: delete {folder.path} to run it again") from error
    told = meta.get("inputs")
    inputs = told if isinstance(told, dict) else {}  # data and code, beside the spec
    return Trial(
        source.label,
        run.seed,
        played,
        records,
        cost=run.fleet.cost,
        local_steps=run.learning.local_steps,
        constants=constants_of(run),
        kind=json.dumps([run.identity() | {"seeds": None}, inputs], sort_keys=True),
        met=json.dumps([run.weather_and_data(), inputs.get("data")], sort_keys=True),
    )


def _recorded(folder: RunFolder, rounds: int) -> tuple[list[Record], Participation]:
    """Return the rounds of a finished run and who took part in them."""
    records, played = read_history(folder.rounds), Participation.load(folder.participation)
    if len(records) != rounds:
        raise UserError(f"{folder.rounds} has {len(records)} rounds, its spec {rounds}")
    if played.counts.tolist() != [record.participants for record in records]:
        raise UserError(f"{folder.participation} does not fit {folder.rounds}")
    return records, played


def _metric(metas: Sequence[dict[str, Any]]) -> Metric:
    try:
        metrics = {Metric(**meta["metric"]) for meta in metas}
    except (KeyError, TypeError):
        raise UserError("a finished run's meta.json does not say what its metric is: delete it and run again") from None
    if len(metrics) > 1:
        names = ", ".join(sorted(metric.name for metric in metrics))
        raise UserError(f"runs with different metrics cannot be put together: {names}")
    return metrics.pop()
