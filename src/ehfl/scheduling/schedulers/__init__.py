"""The schedulers that come with ehfl, one file each, and all of them by name.

A new one is a file here and a line below; the contract tests run over every line.
"""

from ehfl.registry import Registry
from ehfl.scheduling.contract import Scheduler
from ehfl.scheduling.schedulers.adaptive_steps import AdaptiveSteps
from ehfl.scheduling.schedulers.always_on import AlwaysOn
from ehfl.scheduling.schedulers.energy_cycles import EnergyCycles
from ehfl.scheduling.schedulers.f3ast import F3ast
from ehfl.scheduling.schedulers.forecast import Forecast
from ehfl.scheduling.schedulers.greedy import Greedy
from ehfl.scheduling.schedulers.lyapunov import Lyapunov
from ehfl.scheduling.schedulers.most_rounds_left import MostRoundsLeft
from ehfl.scheduling.schedulers.myopic import Myopic
from ehfl.scheduling.schedulers.oldest_first import OldestFirst
from ehfl.scheduling.schedulers.power_of_choice import PowerOfChoice
from ehfl.scheduling.schedulers.round_robin import RoundRobin
from ehfl.scheduling.schedulers.threshold import Threshold
from ehfl.scheduling.schedulers.uniform_random import UniformRandom

_HERE = "ehfl.scheduling.schedulers"

SCHEDULERS: Registry[Scheduler] = Registry(
    "scheduler",
    {
        "myopic": f"{_HERE}.myopic:Myopic",
        "greedy": f"{_HERE}.greedy:Greedy",
        "round-robin": f"{_HERE}.round_robin:RoundRobin",
        "uniform-random": f"{_HERE}.uniform_random:UniformRandom",
        "always-on": f"{_HERE}.always_on:AlwaysOn",
        "oldest-first": f"{_HERE}.oldest_first:OldestFirst",
        "power-of-choice": f"{_HERE}.power_of_choice:PowerOfChoice",
        "f3ast": f"{_HERE}.f3ast:F3ast",
        "energy-cycles": f"{_HERE}.energy_cycles:EnergyCycles",
        "most-rounds-left": f"{_HERE}.most_rounds_left:MostRoundsLeft",
        "threshold": f"{_HERE}.threshold:Threshold",
        "lyapunov": f"{_HERE}.lyapunov:Lyapunov",
        "forecast": f"{_HERE}.forecast:Forecast",
        "adaptive-steps": f"{_HERE}.adaptive_steps:AdaptiveSteps",
    },
    methods=("select",),
)

__all__ = [
    "SCHEDULERS",
    "AdaptiveSteps",
    "AlwaysOn",
    "EnergyCycles",
    "F3ast",
    "Forecast",
    "Greedy",
    "Lyapunov",
    "MostRoundsLeft",
    "Myopic",
    "OldestFirst",
    "PowerOfChoice",
    "RoundRobin",
    "Threshold",
    "UniformRandom",
]
