"""The folder of a comparison: its spec, beside the folders of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ehfl.experiment.reading import write_spec
from ehfl.experiment.spec import Spec
from ehfl.run_folder import SPEC, Facts, OtherRun, RunFolder, check_same, identity_of, read_comparison, write_sealed
from ehfl.validation import UserError


def write_comparison(spec: Spec, experiment: Path, folders: Sequence[RunFolder]) -> None:
    """Write a comparison's spec into its folder, in which these are the folders of its runs; refuse another one's."""
    _check_same(spec, experiment, folders)
    write_sealed(experiment, write_spec(spec.facts()))


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
