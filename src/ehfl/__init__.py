"""ehfl: federated learning on harvested energy.

The names below are the public ones; each is imported when first used, so that `import ehfl` and `ehfl --help` are quick
and never touch torch or numba. Rooms, from the ground up: randomness, energy, scheduling, report, cli
(docs/architecture.md).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ehfl.energy import Bernoulli, Fleet, Harvest, Replay
    from ehfl.scheduling import (
        AlwaysOn,
        Greedy,
        Myopic,
        Participation,
        Policy,
        PolicyError,
        RoundRobin,
        Summary,
        UniformRandom,
        View,
        check_policy,
        make_policy,
        play,
        simulate,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "AlwaysOn",
    "Bernoulli",
    "Fleet",
    "Greedy",
    "Harvest",
    "Myopic",
    "Participation",
    "Policy",
    "PolicyError",
    "Replay",
    "RoundRobin",
    "Summary",
    "UniformRandom",
    "View",
    "check_policy",
    "make_policy",
    "play",
    "simulate",
]

_ENERGY = {"Bernoulli", "Fleet", "Harvest", "Replay"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'ehfl' has no attribute {name!r}")
    room = importlib.import_module("ehfl.energy" if name in _ENERGY else "ehfl.scheduling")
    return getattr(room, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
