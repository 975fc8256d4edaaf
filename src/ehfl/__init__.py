"""ehfl: federated learning on harvested energy.

The names below are the public ones; each is imported when first used, so that `import ehfl` and `ehfl --help` are quick
and never touch torch or numba. Rooms, from the ground up: randomness, energy, scheduling, theory, learning, experiment,
report, cli, with small ones between them (docs/architecture.md).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ehfl import learning, theory
    from ehfl.energy import Bernoulli, Fleet, Harvest, Replay
    from ehfl.learning import History, load_task, train
    from ehfl.scheduling import (
        AlwaysOn,
        EnergyTotals,
        Greedy,
        Myopic,
        Participation,
        Policy,
        PolicyError,
        Round,
        RoundRobin,
        Summary,
        UniformRandom,
        View,
        check_policy,
        make_policy,
        play,
        simulate,
    )
    from ehfl.validation import InvalidValue

__version__ = "0.1.0.dev0"

__all__ = [
    "AlwaysOn",
    "Bernoulli",
    "EnergyTotals",
    "Fleet",
    "Greedy",
    "Harvest",
    "History",
    "InvalidValue",
    "Myopic",
    "Participation",
    "Policy",
    "PolicyError",
    "Replay",
    "Round",
    "RoundRobin",
    "Summary",
    "UniformRandom",
    "View",
    "check_policy",
    "learning",
    "load_task",
    "make_policy",
    "play",
    "simulate",
    "theory",
    "train",
]

_ROOMS = {
    "ehfl.energy": {"Bernoulli", "Fleet", "Harvest", "Replay"},
    "ehfl.validation": {"InvalidValue"},
    "ehfl.learning": {"History", "load_task", "train"},
}


def __getattr__(name: str) -> object:
    if name in {"learning", "theory"}:
        return importlib.import_module(f"ehfl.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'ehfl' has no attribute {name!r}")
    room = next((room for room, names in _ROOMS.items() if name in names), "ehfl.scheduling")
    return getattr(importlib.import_module(room), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
