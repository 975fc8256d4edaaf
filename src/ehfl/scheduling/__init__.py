"""Scheduling: who takes part in which round.

`simulate(fleet, policy, rounds, seed)` plays the round loop to its end and returns a `Participation`; `play` is the
same loop as a generator, for policies that want feedback. One file a policy: Myopic, Greedy, RoundRobin, UniformRandom,
AlwaysOn; `registry` knows them by name and `check_policy` examines any other.

May enter: NumPy, numba through `kernels`, `ehfl.randomness`, `ehfl.energy`. Leaves: the names below.
"""

from ehfl.scheduling.always_on import AlwaysOn
from ehfl.scheduling.check import check_policy
from ehfl.scheduling.greedy import Greedy
from ehfl.scheduling.myopic import Myopic
from ehfl.scheduling.participation import EnergyTotals, Participation
from ehfl.scheduling.policy import Policy, PolicyError
from ehfl.scheduling.registry import POLICIES, make_policy
from ehfl.scheduling.round_robin import RoundRobin
from ehfl.scheduling.rounds import Round, play
from ehfl.scheduling.simulation import simulate
from ehfl.scheduling.summary import Summary
from ehfl.scheduling.uniform_random import UniformRandom
from ehfl.scheduling.view import View

__all__ = [
    "POLICIES",
    "AlwaysOn",
    "EnergyTotals",
    "Greedy",
    "Myopic",
    "Participation",
    "Policy",
    "PolicyError",
    "Round",
    "RoundRobin",
    "Summary",
    "UniformRandom",
    "View",
    "check_policy",
    "make_policy",
    "play",
    "simulate",
]
