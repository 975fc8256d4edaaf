"""Experiments: a spec, its runs, and what the finished ones say together.

`read_spec` reads a comparison from TOML, `run_all` runs every arm under every seed in parallel, each in a folder of its
own that survives kills, `read_results` reads the folders back and `compare` puts trials side by side with intervals,
paired differences and what theory forecast. Nothing here prints or draws; torch is imported when a run is run.

May enter: pydantic, joblib, SciPy; `energy`, `scheduling`, `theory`, `learning`, `files`. Leaves: the names below.
"""

from ehfl.experiment.building import constants_of
from ehfl.experiment.comparison import Comparison, Goal, Row, compare
from ehfl.experiment.execution import Outcome
from ehfl.experiment.progress import State
from ehfl.experiment.reading import SpecError, read_spec, read_stored, write_spec
from ehfl.experiment.results import Results, read_results, unlisted_runs
from ehfl.experiment.run_folder import RunFolder
from ehfl.experiment.runner import run_all
from ehfl.experiment.spec import Spec
from ehfl.experiment.statistics import Difference, Estimate, difference, estimate
from ehfl.experiment.timing import rounds_to
from ehfl.experiment.trials import Arm, Metric, Trial

__all__ = [
    "Arm",
    "Comparison",
    "Difference",
    "Estimate",
    "Goal",
    "Metric",
    "Outcome",
    "Results",
    "Row",
    "RunFolder",
    "Spec",
    "SpecError",
    "State",
    "Trial",
    "compare",
    "constants_of",
    "difference",
    "estimate",
    "read_results",
    "read_spec",
    "read_stored",
    "rounds_to",
    "run_all",
    "unlisted_runs",
    "write_spec",
]
