"""From run folders to a comparison. Nothing that a spec names is imported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from ehfl.analysis.comparison import Comparison, Goal, compare
from ehfl.analysis.loading import common_metric, load_trial
from ehfl.analysis.sources import sources_in, spec_in
from ehfl.history import Metric
from ehfl.run_folder import Facts, folder_name
from ehfl.validation import InvalidValue, UserError, at, path_of

Folder = str | os.PathLike[str]


@dataclass(frozen=True, eq=False, slots=True)
class Results:
    """Finished runs side by side, with where they came from."""

    comparison: Comparison
    specs: tuple[str, ...]  # as TOML, one an experiment
    metas: tuple[Facts, ...]  # one a run


def read_results(folders: Folder | Sequence[Folder], goal: Goal | None = None) -> Results:
    """Put the finished runs of experiment folders (or of single runs) side by side.

    With several experiments, an arm is named after both: "paper: myopic". The goal is the first spec's unless given.
    """
    given = [folders] if isinstance(folders, str | os.PathLike) else folders
    if not isinstance(given, Sequence):
        raise InvalidValue("folders", "a list of paths", repr(folders))
    places = [path_of("folders", folder) for folder in given]
    if not places:
        raise UserError("no run folder was given")
    specs = {place: spec_in(place) for place in places}
    names = list(dict.fromkeys(facts["name"] for facts, _ in specs.values()))
    sources = [one for place in places for one in sources_in(place, specs[place][0], several=len(names) > 1)]
    found = [source for source in sources if source.finished]
    if not found:
        raise UserError(f"no finished runs in {', '.join(map(str, places))}")
    metric = common_metric(found)
    trials = [load_trial(source) for source in found]
    compared = compare(
        " and ".join(names),
        trials,
        metric,
        goal=_goal(goal, specs[places[0]][0], metric),
        missing=[source.missing for source in sources if not source.finished],
    )
    texts, metas = tuple(specs[place][1] for place in places), tuple(source.meta for source in found)
    return Results(replace(compared, specs=texts, metas=metas), texts, metas)


def read(*folders: str | os.PathLike[str], goal: float | None = None) -> Comparison:
    """Return the finished runs of folders, of experiments or of single runs, side by side."""
    return read_results(folders, goal).comparison


def unlisted_runs(experiment: Path) -> list[str]:
    """Return the names of the run folders in an experiment's folder that its spec does not name."""
    facts, _ = spec_in(experiment)
    listed = {folder_name(arm["label"], seed) for arm in facts["arms"] for seed in facts["seeds"]}
    return sorted({path.parent.name for path in experiment.glob("*/meta.json")} - listed)


def _goal(given: Goal | None, spec: Facts, metric: Metric) -> Goal:
    goal: Goal = spec["evaluation"]["goal"] if given is None else given
    if goal != "auto":
        with at("evaluation") if given is None else nullcontext():
            metric.check_goal(goal)
    return goal
