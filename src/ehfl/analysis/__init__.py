"""Analysis: numbers from results.

A finished run is a trial, the trials under one label are an arm, and arms side by side a `Comparison`: means over seeds
with their intervals (`statistics`), differences between runs that met the same (`pairing`) to the first arm that did
(`worlds`), at the end and over the rounds (`difference_curves`), rounds and energy to a goal (`timing`), a row of
figures for each arm (`rows`), which classes and clients are served worst (`served`, `served_lines`), and what a server
saw of real devices (`devices`).
`audit` says what clients weigh in a plain mean and what that does to labels (`audit_table`, `audit_groups`).
`scales` decides what energy and time are shown in, `clock` knows how long rounds take.
`table` defines once what a table of them shows, cell by cell (`cells`, `numbers`; `intervals` decides how many digits),
and `simulations` what one of participations alone shows; the terminal, the page and notebooks (`notebook`) only render
them. `results` reads run folders.

May enter: NumPy, SciPy's special functions, `ehfl.arrays`, `history`, `scheduling`, `theory` and
below. Reading results needs no pydantic, joblib, torch, matplotlib or rich, and pandas only where a DataFrame is asked
for. Leaves: the names below, each imported when it is first used, because SciPy takes longer to load than all the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehfl.lazy import lazy_names

if TYPE_CHECKING:
    from ehfl.analysis.comparison import Comparison, Goal, compare
    from ehfl.analysis.results import Results, read, read_results, unlisted_runs
    from ehfl.analysis.rows import Row
    from ehfl.analysis.statistics import Difference, Estimate, difference, estimate
    from ehfl.analysis.timing import rounds_to
    from ehfl.analysis.trials import Arm, Missing, Trial

__all__ = [
    "Arm",
    "Comparison",
    "Difference",
    "Estimate",
    "Goal",
    "Missing",
    "Results",
    "Row",
    "Trial",
    "compare",
    "difference",
    "estimate",
    "read",
    "read_results",
    "rounds_to",
    "unlisted_runs",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "comparison": {"Comparison", "Goal", "compare"},
        "results": {"Results", "read", "read_results", "unlisted_runs"},
        "rows": {"Row"},
        "statistics": {"Difference", "Estimate", "difference", "estimate"},
        "timing": {"rounds_to"},
        "trials": {"Arm", "Missing", "Trial"},
    },
)
