"""ehfl: federated learning on harvested energy.

The names below are the public ones; each is imported when first used, so that `import ehfl` and `ehfl --help` are quick
and never touch torch or numba. docs/architecture.md lists the rooms, from the ground up.
"""

from __future__ import annotations

from ehfl.lazy import lazy_names

TYPE_CHECKING = False  # for type checkers it is true; `typing` itself could be a file in the current folder here
if TYPE_CHECKING:
    from ehfl import analysis, energy, experiment, learning, report, scheduling, theory
    from ehfl.analysis import Comparison, read
    from ehfl.energy import (
        HARVESTS,
        Bernoulli,
        Compound,
        EnergyTotals,
        Fleet,
        Harvest,
        Ledger,
        Markov,
        Periodic,
        Poisson,
        PowerHarvest,
        Replay,
        Sun,
        Trace,
        Wind,
        check_harvest,
        fleet_in_joules,
    )
    from ehfl.experiment import compare
    from ehfl.history import History, Metric
    from ehfl.learning import AGGREGATIONS, TASKS, check_aggregation, check_task, evaluate, load_model, load_task, train
    from ehfl.partition import PARTITIONS, check_partition
    from ehfl.report import write_report
    from ehfl.scheduling import (
        SCHEDULERS,
        AdaptiveSteps,
        AlwaysOn,
        Chances,
        Decider,
        EnergyCycles,
        F3ast,
        Forecast,
        Greedy,
        Lockstep,
        Lyapunov,
        MostRoundsLeft,
        Myopic,
        OldestFirst,
        Participation,
        PowerOfChoice,
        Round,
        RoundRobin,
        Scheduler,
        SchedulerError,
        Summary,
        Threshold,
        UniformRandom,
        View,
        chances,
        check_scheduler,
        play,
        realised,
        simulate,
    )
    from ehfl.theory import STEP_SIZES
    from ehfl.validation import InvalidValue

__version__ = "0.1.0.dev0"

__all__ = [
    "AGGREGATIONS",
    "HARVESTS",
    "PARTITIONS",
    "SCHEDULERS",
    "STEP_SIZES",
    "TASKS",
    "AdaptiveSteps",
    "AlwaysOn",
    "Bernoulli",
    "Chances",
    "Comparison",
    "Compound",
    "Decider",
    "EnergyCycles",
    "EnergyTotals",
    "F3ast",
    "Fleet",
    "Forecast",
    "Greedy",
    "Harvest",
    "History",
    "InvalidValue",
    "Ledger",
    "Lockstep",
    "Lyapunov",
    "Markov",
    "Metric",
    "MostRoundsLeft",
    "Myopic",
    "OldestFirst",
    "Participation",
    "Periodic",
    "Poisson",
    "PowerHarvest",
    "PowerOfChoice",
    "Replay",
    "Round",
    "RoundRobin",
    "Scheduler",
    "SchedulerError",
    "Summary",
    "Sun",
    "Threshold",
    "Trace",
    "UniformRandom",
    "View",
    "Wind",
    "analysis",
    "chances",
    "check_aggregation",
    "check_harvest",
    "check_partition",
    "check_scheduler",
    "check_task",
    "compare",
    "energy",
    "evaluate",
    "experiment",
    "fleet_in_joules",
    "learning",
    "load_model",
    "load_task",
    "play",
    "read",
    "realised",
    "report",
    "scheduling",
    "simulate",
    "theory",
    "train",
    "write_report",
]

__getattr__, __dir__ = lazy_names(
    "ehfl",
    {
        "analysis": ["Comparison", "read"],
        "energy": [
            "HARVESTS", "Bernoulli", "Compound", "EnergyTotals", "Fleet", "Harvest", "Ledger", "Markov", "Periodic",
            "Poisson", "PowerHarvest", "Replay", "Sun", "Trace", "Wind", "check_harvest", "fleet_in_joules",
        ],
        "experiment": ["compare"],
        "history": ["History", "Metric"],
        "learning": [
            "AGGREGATIONS", "TASKS", "check_aggregation", "check_task", "evaluate", "load_model", "load_task", "train",
        ],
        "partition": ["PARTITIONS", "check_partition"],
        "scheduling": [
            "SCHEDULERS", "AdaptiveSteps", "AlwaysOn", "Chances", "Decider", "EnergyCycles", "F3ast", "Forecast",
            "Greedy", "Lockstep", "Lyapunov", "MostRoundsLeft", "Myopic", "OldestFirst", "Participation",
            "PowerOfChoice", "Round", "RoundRobin", "Scheduler", "SchedulerError", "Summary", "Threshold",
            "UniformRandom", "View", "chances", "check_scheduler", "play", "realised", "simulate",
        ],
        "report": ["write_report"],
        "theory": ["STEP_SIZES"],
        "validation": ["InvalidValue"],
    },
    rooms=["analysis", "energy", "experiment", "learning", "report", "scheduling", "theory"],
)  # fmt: skip
