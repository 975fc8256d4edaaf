"""From run folders back to trials, and from trials to a comparison. Nothing that a spec names is imported."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehfl.analysis.comparison import Comparison, Goal, compare
from ehfl.analysis.trials import Trial
from ehfl.history import Metric, Record, read_history
from ehfl.run_folder import Facts, RunFolder, check_same, folder_name, identity_of, inside, read_facts
from ehfl.scheduling import SCHEDULERS, Participation
from ehfl.validation import UserError, at, one_line


@dataclass(frozen=True, eq=False, slots=True)
class Results:
    """Finished runs side by side, with where they came from."""

    comparison: Comparison
    specs: tuple[str, ...]  # as TOML, one an experiment
    metas: tuple[Facts, ...]  # one a run


@dataclass(frozen=True, eq=False, slots=True)
class _Source:
    """A run that an experiment names, in the folder where it should be."""

    label: str  # of its arm in this comparison
    seed: int
    folder: RunFolder
    facts: Facts  # its spec, as the experiment has it: what decides no number may have changed since it ran


def read_results(folders: Sequence[str | Path], goal: Goal | None = None) -> Results:
    """Put the finished runs of experiment folders (or of single runs) side by side.

    With several experiments, an arm is named after both: "paper: myopic". The goal is the first spec's unless given.
    """
    places = [Path(folder) for folder in folders]
    if not places:
        raise UserError("no run folder was given")
    specs = [_spec_in(place) for place in places]
    several = len({spec["name"] for spec in specs}) > 1
    sources = [one for place, spec in zip(places, specs, strict=True) for one in _sources(place, spec, several)]
    found = [source for source in sources if source.folder.finished]
    if not found:
        raise UserError(f"no finished runs in {', '.join(map(str, places))}")
    metas = tuple(source.folder.meta() for source in found)
    metric = _metric(metas)
    trials = [_trial(source, meta) for source, meta in zip(found, metas, strict=True)]
    compared = compare(
        " and ".join(dict.fromkeys(spec["name"] for spec in specs)),
        trials,
        metric,
        trials[0].participation.target,
        goal=_goal(goal, specs[0], metric),
        missing=[_named(source) for source in sources if source not in found],
        wanted_first=sources[0].label,
    )
    return Results(compared, tuple((place / "spec.toml").read_text(encoding="utf-8") for place in places), metas)


def read(*folders: str | os.PathLike[str], goal: float | None = None) -> Comparison:
    """Return the finished runs of folders, of experiments or of single runs, side by side."""
    return read_results([Path(folder) for folder in folders], goal).comparison


def unlisted_runs(listed: Sequence[str], experiment: Path) -> list[str]:
    """Return the names of run folders in an experiment's folder that are not among these: of earlier arms or seeds."""
    found = (path.parent.name for path in experiment.glob("*/meta.json"))
    return sorted(name for name in found if name not in listed)


def _spec_in(folder: Path) -> Facts:
    path = folder / "spec.toml"
    if not path.is_file():
        raise UserError(f"{folder} is not a run folder: it has no spec.toml")
    return _checked(read_facts(path), path)


# What is read here of a spec; ehfl wrote it, so that anything else was changed since, or is of another version.
_READ: dict[str, type | tuple[type, ...]] = {
    "name": str, "rounds": int, "scheduler.name": str, "fleet.clients": int, "fleet.harvest.name": str,
    "learning.task.name": str, "learning.partition.name": str, "learning.order": str, "learning.local_steps": int,
    "evaluation.goal": (str, int, float),
}  # fmt: skip


def _checked(facts: Facts, path: Path) -> Facts:
    """Return the facts of a spec, or name what cannot be read of them."""
    wrong = [key for key, kind in _READ.items() if not isinstance(inside(facts, key.split(".")), kind)]
    seeds, arms = facts.get("seeds"), facts.get("arms")
    if not isinstance(seeds, list) or not seeds or not all(isinstance(seed, int) for seed in seeds):
        wrong.append("seeds")
    if not isinstance(arms, list) or not arms or not all(isinstance(inside(arm, ["label"]), str) for arm in arms):
        wrong.append("arms")
    if wrong:
        raise UserError(f"{path} is no spec that this version of ehfl wrote: it has no {', '.join(wrong)}")
    return facts


def _sources(folder: Path, spec: Facts, several: bool) -> Iterator[_Source]:
    """Yield the runs of an experiment, seed by seed; a run's own folder is one of one."""
    single = (folder / "meta.json").exists()
    for seed in spec["seeds"]:
        for arm in spec["arms"]:
            label = arm["label"]
            run = RunFolder(folder if single else folder / folder_name(label, seed))
            facts = _with_changes(spec, arm)
            _check_belongs(run, facts)
            yield _Source(f"{spec['name']}: {label}" if several else label, seed, run, facts)


def _check_belongs(run: RunFolder, facts: Facts) -> None:
    """Refuse a run that was made by another spec than the experiment's."""
    found = run.facts()
    if found is not None:
        _checked(found, run.spec)
        there, here = (identity_of(one) | {"seeds": None} for one in (found, facts))
        check_same(there, here, run.path, f"delete {run.path} to run it again")


def _with_changes(spec: Facts, arm: Facts) -> Facts:
    """Return the spec of an arm's runs, but for the seed."""
    facts = copy.deepcopy(spec)
    for key, value in arm.items():
        *sections, last = key.split(".")
        inner = inside(facts, sections)
        if key != "label" and isinstance(inner, dict):
            inner[last] = value
            if value == "none":  # what an arm does without
                del inner[last]
    return facts


def _named(source: _Source) -> str:
    status = "failed" if source.folder.meta().get("status") == "failed" else "not finished"
    return f"{source.label} seed {source.seed} ({status})"


def _goal(given: Goal | None, spec: Facts, metric: Metric) -> Goal:
    goal: Goal = spec["evaluation"]["goal"] if given is None else given
    if goal != "auto":
        with at("evaluation") if given is None else nullcontext():
            metric.check_goal(goal)
    return goal


def _trial(source: _Source, meta: Facts) -> Trial:
    folder, facts = source.folder, source.facts
    try:
        records, played = _recorded(folder, facts["rounds"])
    except (UserError, FileNotFoundError) as error:
        raise UserError(f"{one_line(error)}: delete {folder.path} to run it again") from error
    inputs: Facts = meta["inputs"] if isinstance(meta.get("inputs"), dict) else {}
    name = facts["scheduler"]["name"]
    return Trial(
        source.label,
        source.seed,
        played,
        records,
        local_steps=facts["learning"]["local_steps"],
        scheduler=name if name in SCHEDULERS.members else "",
        fingerprint=_text(identity_of(facts) | {"seeds": None}, inputs),
        **_met(facts, inputs),
    )


def _met(facts: Facts, inputs: Mapping[str, Any]) -> dict[str, str]:
    """Return what decides, given the seed, which weather, data and first model a run meets."""
    identity = identity_of(facts)
    fleet, learning = identity["fleet"], identity["learning"]

    def code(table: Facts) -> Any:
        return inputs.get(table["name"])

    def files(key: str) -> Any:
        return {name: value for name, value in inputs.items() if name.startswith(f"{key}.")}

    harvest, task, partition = fleet["harvest"], learning["task"], learning["partition"]
    dealt = _text(partition, code(partition), files("learning.partition"), learning["order"])
    return {
        "weather": _text(fleet["clients"], harvest, code(harvest), files("fleet.harvest")),
        "data": _text(fleet["clients"], inputs.get("data"), dealt),
        "first_model": _text(task, code(task), files("learning.task")),
    }


def _text(*parts: Any) -> str:
    return json.dumps(parts, sort_keys=True)


def _recorded(folder: RunFolder, rounds: int) -> tuple[list[Record], Participation]:
    """Return the rounds of a finished run and who took part in them."""
    records, played = read_history(folder.rounds), Participation.load(folder.participation)
    if len(records) != rounds:
        raise UserError(f"{folder.rounds} has {len(records)} rounds, its spec {rounds}")
    if played.counts.tolist() != [record.participants for record in records]:
        raise UserError(f"{folder.participation} does not fit {folder.rounds}")
    return records, played


def _metric(metas: Sequence[Facts]) -> Metric:
    try:
        metrics = {Metric(**meta["metric"] | {"bounds": tuple(meta["metric"]["bounds"])}) for meta in metas}
    except (KeyError, TypeError):
        raise UserError("a finished run's meta.json does not say what its metric is: delete it and run again") from None
    if len(metrics) > 1:
        names = ", ".join(sorted(metric.name for metric in metrics))
        raise UserError(f"runs with different metrics cannot be put together: {names}")
    return metrics.pop()
