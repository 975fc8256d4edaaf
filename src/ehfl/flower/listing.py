"""Runs that are played one at a time, listed together in their experiment's folder, so that one report shows all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ehfl.experiment import Run, Spec
from ehfl.experiment.comparison_folder import write_comparison
from ehfl.files import sole_use
from ehfl.run_folder import RunFolder


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
