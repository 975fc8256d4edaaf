"""The folder of a comparison: its spec, beside the folders of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ehfl.experiment.reading import write_spec
from ehfl.experiment.spec import Run, Spec
from ehfl.files import sole_use
from ehfl.run_folder import SPEC, Facts, OtherRun, RunFolder, check_same, identity_of, read_comparison, write_sealed
from ehfl.validation import UserError


def write_comparison(spec: Spec, experiment: Path, folders: Sequence[RunFolder]) -> None:
    """Write a comparison's spec into its folder, in which these are the folders of its runs; refuse another one's."""
    _check_same(spec, experiment, folders)
    write_sealed(experiment, write_spec(spec.facts()))


def list_runs(spec: Spec, run: Run, experiment: Path) -> None:
    """Write into the experiment's folder what it compares: this run, and those of the spec that have a folder."""
    others = [one for one in spec.runs() if RunFolder(experiment / one.folder_name).written is not None]
    labels, seeds = {one.arm.label for one in [run, *others]}, {one.seed for one in [run, *others]}
    listed = replace(
        spec,
        arms=tuple(arm for arm in spec.arms if arm.label in labels),
        seeds=tuple(seed for seed in dict.fromkeys([*spec.seeds, run.seed]) if seed in seeds),
    )
    with sole_use(experiment):
        write_comparison(listed, experiment, [RunFolder(experiment / one.folder_name) for one in listed.runs()])


def _check_same(spec: Spec, experiment: Path, folders: Sequence[RunFolder]) -> None:
    """Refuse the folder of another comparison, even if none of its runs would be overwritten."""
    remedy = "give this one another name"
    if (experiment / "meta.json").exists():
        raise OtherRun(f"{experiment} is the folder of a single run, not of a comparison: {remedy}")
    if not (experiment / SPEC).exists():
        return
    try:
        there, _ = read_comparison(experiment)
    except UserError:
        # Runs of this comparison, which have been looked at, show that it is the same; its spec is then written anew.
        if (experiment / SPEC).is_file() and any(folder.spec.exists() for folder in folders):
            return
        raise
    check_same(_shared(there), _shared(spec.facts()), experiment, remedy)


def _shared(facts: Facts) -> Facts:
    """Return what all runs of a comparison share of their identity."""
    return {key: value for key, value in identity_of(facts).items() if key not in ("seeds", "scheduler")}
