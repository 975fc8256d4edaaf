"""The schedulers that come with ehfl, by name; the contract tests run over every line.

paper   the paper's schedulers and two baselines: uniform sampling and mains power
queues  by energy, and by how much of it to spend
fair    by past turns, and by past losses
"""

from ehfl.registry import Registry
from ehfl.scheduling.contract import Scheduler

_HERE = "ehfl.scheduling.schedulers"

SCHEDULERS: Registry[Scheduler] = Registry(
    "scheduler",
    {
        "myopic": f"{_HERE}.paper:Myopic",
        "greedy": f"{_HERE}.paper:Greedy",
        "round-robin": f"{_HERE}.paper:RoundRobin",
        "uniform-random": f"{_HERE}.paper:UniformRandom",
        "always-on": f"{_HERE}.paper:AlwaysOn",
        "oldest-first": f"{_HERE}.fair:OldestFirst",
        "power-of-choice": f"{_HERE}.fair:PowerOfChoice",
        "f3ast": f"{_HERE}.fair:F3ast",
        "energy-cycles": f"{_HERE}.fair:EnergyCycles",
        "most-rounds-left": f"{_HERE}.queues:MostRoundsLeft",
        "threshold": f"{_HERE}.queues:Threshold",
        "lyapunov": f"{_HERE}.queues:Lyapunov",
        "forecast": f"{_HERE}.queues:Forecast",
        "adaptive-steps": f"{_HERE}.queues:AdaptiveSteps",
    },
    methods=("select",),
)
