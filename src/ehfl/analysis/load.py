"""Run folders read as a comparison: which runs a spec names, what their files say, and whether they fit together.

Nothing that a spec names is imported.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ehfl.analysis.comparison import Comparison, Goal, compare
from ehfl.analysis.trials import Missing, Trial
from ehfl.arrays import IntArray
from ehfl.runs import (
    SPEC,
    Facts,
    Metric,
    Record,
    RunFolder,
    Traffic,
    check_same,
    folder_name,
    identity_of,
    inside,
    read_comparison,
    read_history,
    read_own,
)  # fmt: skip
from ehfl.scheduling import SCHEDULERS, Participation
from ehfl.validation import InvalidValue, UserError, at, is_label, one_line, printable

# What is read here of a spec; ehfl wrote it, so that anything else is of another version.
_READ: dict[str, type | tuple[type, ...]] = {
    "name": str, "rounds": int, "scheduler.name": str, "fleet.clients": int, "fleet.harvest.name": str,
    "learning.task.name": str, "learning.partition.name": str, "learning.order": str, "learning.local_steps": int,
    "evaluation.goal": (str, int, float),
}  # fmt: skip


def read(*folders: str | os.PathLike[str], goal: Goal | None = None) -> Comparison:
    """Return the finished runs of folders, of experiments or of single runs, side by side.

    With several experiments, an arm is named after both: "paper: myopic". The goal is the first spec's unless given.
    """
    places = [Path(folder) for folder in folders]
    if not places:
        raise UserError("no run folder was given")
    specs = {place: spec_in(place) for place in places}
    names = list(dict.fromkeys(facts["name"] for facts, _ in specs.values()))
    sources = [one for place in places for one in sources_in(place, specs[place][0], several=len(names) > 1)]
    found = [source for source in sources if source.finished]
    if not found:
        raise UserError(f"no finished runs in {', '.join(map(str, places))}")
    metric = common_metric(found)
    compared = compare(
        " and ".join(names),
        [load_trial(source) for source in found],
        metric,
        goal=_goal(goal, specs[places[0]][0], metric),
        missing=[source.missing for source in sources if not source.finished],
    )
    texts = tuple(specs[place][1] for place in places)
    return replace(compared, specs=texts, metas=tuple(source.meta for source in found))


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


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """A run that an experiment names, in the folder where it should be."""

    label: str  # of its arm in this comparison
    seed: int
    folder: RunFolder
    facts: Facts  # its spec, as the experiment has it: what decides no number may have changed since it ran
    meta: Facts  # what its meta.json says, nothing before it began

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return bool(self.meta.get("status") == "finished")

    @property
    def missing(self) -> Missing:
        """What is known of a run that did not come to its end."""
        if self.meta.get("status") != "failed":
            return Missing(self.label, self.seed)
        lines = self.meta.get("traceback")
        why = printable(str(self.meta.get("error", "unknown")))  # a folder may come from anywhere
        return Missing(self.label, self.seed, why, "".join(map(str, lines)) if isinstance(lines, list) else "")


def spec_in(folder: Path) -> tuple[Facts, str]:
    """Return the spec of an experiment's or of a single run's folder, as facts and as text."""
    if not (folder / SPEC).exists():
        raise UserError(f"{folder} is not a run folder: it has no {SPEC}")
    run = RunFolder(folder)
    facts, text = read_comparison(folder) if run.written is None else read_own(folder, run.remedy)
    return _checked(facts, folder / SPEC), text


def sources_in(folder: Path, spec: Facts, *, several: bool) -> Iterator[Source]:
    """Yield the runs of an experiment, seed by seed; a run's own folder is one of one.

    Where there are several experiments, arms are named after both.
    """
    single = RunFolder(folder).written is not None
    for seed in spec["seeds"]:
        for arm in spec["arms"]:
            label = arm["label"]
            run = RunFolder(folder if single else folder / folder_name(label, seed))
            facts = _with_changes(spec, arm) | {"seeds": [seed]}
            meta = run.meta() if _check_belongs(run, facts) else {}
            yield Source(f"{spec['name']}: {label}" if several else label, seed, run, facts, meta)


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
    # A folder may come from anywhere, and these are shown in the terminal.
    points = [one for arm in facts["arms"] for pair in dict(arm.get("point", {})).items() for one in pair]
    texts = [("point", one) for one in points if not isinstance(one, int | float)]
    for key, text in [("name", facts["name"]), *(("label", arm["label"]) for arm in facts["arms"]), *texts]:
        if not is_label(text, most=80):
            raise InvalidValue(f"{key} in {path}", "1 to 80 printable characters", text)
    return facts


def _check_belongs(run: RunFolder, facts: Facts) -> bool:
    """Refuse a run that another spec made; return False for one of fewer rounds, which is still to be extended."""
    found = run.facts()
    if found is None:
        return True
    known = _checked(found, run.spec)
    fewer: bool = known["rounds"] < facts["rounds"]
    check_same(
        identity_of(known | ({"rounds": facts["rounds"]} if fewer else {})), identity_of(facts), run.path, run.remedy
    )
    return not fewer


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


def load_trial(source: Source) -> Trial:
    """Return a finished run, or refuse it where one of its files is not what the run left."""
    facts, inputs = source.facts, _inputs(source)
    source.folder.check_untouched(source.meta)
    try:
        records, played = _recorded(source)
        classes = tuple(source.meta.get("classes") or ())
        labels = None if source.meta.get("labels") is None else np.array(source.meta["labels"])
        traffic = Traffic.read(source.meta)
    except (UserError, OSError) as error:
        raise UserError(f"{one_line(error)}: {source.folder.remedy}") from error
    name = facts["scheduler"]["name"]
    return Trial(
        source.label,
        source.seed,
        played,
        records,
        local_steps=_local_steps(facts["learning"], labels),
        aggregation=facts["learning"]["aggregation"]["name"],
        partition=facts["learning"]["partition"]["name"],
        scheduler=name if name in SCHEDULERS.members else "",
        fingerprint=_text(identity_of(facts) | {"seeds": None}, inputs),
        **_met(facts, inputs),
        classes=classes,
        labels=labels,
        traffic=traffic,
        spec=facts,
    )


def _local_steps(learning: Facts, labels: IntArray | None) -> int:
    """Return K: of a mean turn if turns are epochs, or their number where it is not known what clients hold."""
    epochs: int | None = learning.get("local_epochs")
    if epochs is None:
        return int(learning["local_steps"])
    batches = 1 if labels is None else np.ceil(labels.sum(axis=1) / learning["batch_size"]).mean()
    return round(epochs * float(batches))


def common_metric(sources: Sequence[Source]) -> Metric:
    """Return what all these finished runs are judged by."""
    metrics = {_metric(source) for source in sources}
    if len(metrics) > 1:
        raise UserError(
            f"runs with different metrics cannot be put together: {', '.join(sorted(m.name for m in metrics))}"
        )
    return metrics.pop()


def _metric(source: Source) -> Metric:
    folder, found = source.folder, source.meta.get("metric")
    try:
        facts: Facts = dict(found or {})
        return Metric(**facts | {"bounds": tuple(facts["bounds"])})
    except (LookupError, TypeError, ValueError) as error:
        raise UserError(f"{folder.path}/meta.json does not say what its metric is ({error}): {folder.remedy}") from None


def _inputs(source: Source) -> Facts:
    inputs = source.meta.get("inputs")
    if not isinstance(inputs, dict):
        folder = source.folder
        raise UserError(f"{folder.path}/meta.json does not say what the run was made from: {folder.remedy}")
    return inputs


def _recorded(source: Source) -> tuple[list[Record], Participation]:
    """Return the rounds of a finished run and who took part in them."""
    folder, rounds = source.folder, source.facts["rounds"]
    records, played = read_history(folder.rounds), Participation.load(folder.participation)
    if len(records) != rounds:
        raise UserError(f"{folder.rounds} has {len(records)} rounds, its spec {rounds}")
    if played.counts.tolist() != [record.participants for record in records]:
        raise UserError(f"{folder.participation} does not fit {folder.rounds}")
    return records, played


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
    # What a unit brings; one comes a round, so that longer rounds have other weather. Watts come whatever a round is.
    portions = [fleet["arrival"], fleet["round_length"]] if fleet.get("arrival") is not None else []
    return {
        "weather": _text(fleet["clients"], harvest, code(harvest), files("fleet.harvest"), *portions),
        "data": _text(fleet["clients"], inputs.get("data"), dealt),
        "first_model": _text(task, code(task), files("learning.task")),
    }


def _text(*parts: Any) -> str:
    return json.dumps(parts, sort_keys=True)
