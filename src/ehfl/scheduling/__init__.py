"""Scheduling: who takes part in which round.

`simulate(fleet, scheduler, rounds, seed)` plays the round loop to its end and returns a `Participation`; `play` is the
same loop as a generator, and `Lockstep` the same loop driven by a learner, for schedulers that choose by losses.
`schedulers/` has one file a scheduler, `SCHEDULERS` knows them by name and `check_scheduler` examines any other. The
loop's two halves are `Decider` (the server decides) and `energy.Ledger` (the devices settle). `chances` says how likely
each client is to take part and what it weighs in a mean, `realised` how it came.

May enter: NumPy, numba through `kernels`, `ehfl.energy` and what that may import, `ehfl.machine`. Leaves: the names
below.
"""

from ehfl.scheduling.check import check_scheduler
from ehfl.scheduling.contract import Scheduler, SchedulerError, brings_steps, brings_weights, wants_losses
from ehfl.scheduling.course import Course, Lockstep, course_of
from ehfl.scheduling.expected_chances import chances, exact_chances
from ehfl.scheduling.participation import Participation
from ehfl.scheduling.realised_chances import Chances, realised
from ehfl.scheduling.rounds import Decider, Round, check_target, play
from ehfl.scheduling.schedulers import (
    SCHEDULERS,
    AdaptiveSteps,
    AlwaysOn,
    EnergyCycles,
    F3ast,
    Forecast,
    Greedy,
    Lyapunov,
    MostRoundsLeft,
    Myopic,
    OldestFirst,
    PowerOfChoice,
    RoundRobin,
    Threshold,
    UniformRandom,
)
from ehfl.scheduling.simulation import simulate
from ehfl.scheduling.summary import Summary, jain
from ehfl.scheduling.view import View

__all__ = [
    "SCHEDULERS",
    "AdaptiveSteps",
    "AlwaysOn",
    "Chances",
    "Course",
    "Decider",
    "EnergyCycles",
    "F3ast",
    "Forecast",
    "Greedy",
    "Lockstep",
    "Lyapunov",
    "MostRoundsLeft",
    "Myopic",
    "OldestFirst",
    "Participation",
    "PowerOfChoice",
    "Round",
    "RoundRobin",
    "Scheduler",
    "SchedulerError",
    "Summary",
    "Threshold",
    "UniformRandom",
    "View",
    "brings_steps",
    "brings_weights",
    "chances",
    "check_scheduler",
    "check_target",
    "course_of",
    "exact_chances",
    "jain",
    "play",
    "realised",
    "simulate",
    "wants_losses",
]
