"""The runs that experiments name, found in their folders. Nothing that a spec names is imported."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ehfl.analysis.trials import Missing
from ehfl.run_folder import (
    SPEC,
    Facts,
    RunFolder,
    check_same,
    folder_name,
    identity_of,
    inside,
    read_comparison,
    read_own,
)  # fmt: skip
from ehfl.validation import InvalidValue, UserError, is_label, printable

# What is read here of a spec; ehfl wrote it, so that anything else is of another version.
_READ: dict[str, type | tuple[type, ...]] = {
    "name": str, "rounds": int, "scheduler.name": str, "fleet.clients": int, "fleet.harvest.name": str,
    "learning.task.name": str, "learning.partition.name": str, "learning.order": str, "learning.local_steps": int,
    "evaluation.goal": (str, int, float),
}  # fmt: skip


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
            _check_belongs(run, facts)
            yield Source(f"{spec['name']}: {label}" if several else label, seed, run, facts, run.meta())


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
    for key, text in [("name", facts["name"]), *(("label", arm["label"]) for arm in facts["arms"])]:
        if not is_label(text, most=80):
            raise InvalidValue(f"{key} in {path}", "1 to 80 printable characters", text)
    return facts


def _check_belongs(run: RunFolder, facts: Facts) -> None:
    """Refuse a run that was made by another spec than the experiment's."""
    found = run.facts()
    if found is not None:
        check_same(identity_of(_checked(found, run.spec)), identity_of(facts), run.path, run.remedy)


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
