"""Experiments: a spec, its runs, and how they are run.

`read_spec` reads a comparison from TOML: a `Setting` for each arm. `run_all` runs every arm under every seed in
parallel, each run in a folder of its own that survives kills. `compare` does it all from Python and returns what
`analysis` reads from the folders; `audit` says before what a mean would make of each arm's clients, `covered` which
theorem an arm has. Nothing here prints or draws; torch is imported when a run is run.

May enter: pydantic, joblib; `energy`, `scheduling`, `theory`, `learning`, `run_folder`, `analysis`. Leaves: the names
below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehfl.lazy import lazy_names

if TYPE_CHECKING:
    from ehfl.experiment.auditing import audit
    from ehfl.experiment.checking import check_comparison, check_harvests, check_schedulers
    from ehfl.experiment.comparing import compare
    from ehfl.experiment.covering import covered
    from ehfl.experiment.execution import Outcome, execute, played_by, run_training
    from ehfl.experiment.inputs import inputs_of
    from ehfl.experiment.progress import State
    from ehfl.experiment.reading import make_spec, read_spec, write_spec
    from ehfl.experiment.runner import run_all
    from ehfl.experiment.spec import Arm, Run, Setting, Spec
    from ehfl.experiment.workers import begin_process
    from ehfl.validation import SpecError

__all__ = [
    "Arm",
    "Outcome",
    "Run",
    "Setting",
    "Spec",
    "SpecError",
    "State",
    "audit",
    "begin_process",
    "check_comparison",
    "check_harvests",
    "check_schedulers",
    "compare",
    "covered",
    "execute",
    "inputs_of",
    "make_spec",
    "played_by",
    "read_spec",
    "run_all",
    "run_training",
    "write_spec",
]

__getattr__, __dir__ = lazy_names(
    "ehfl.experiment",
    {
        "auditing": ["audit"],
        "checking": ["check_comparison", "check_harvests", "check_schedulers"],
        "comparing": ["compare"],
        "covering": ["covered"],
        "execution": ["Outcome", "execute", "played_by", "run_training"],
        "inputs": ["inputs_of"],
        "progress": ["State"],
        "reading": ["SpecError", "make_spec", "read_spec", "write_spec"],
        "runner": ["run_all"],
        "spec": ["Arm", "Run", "Setting", "Spec"],
        "workers": ["begin_process"],
    },
)
