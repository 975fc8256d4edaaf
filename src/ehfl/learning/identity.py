"""The identity of a run without a spec: every input of its numbers, so that other runs' checkpoints are rejected."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray
from ehfl.learning.aggregation.contract import Aggregation
from ehfl.learning.engine.engine import Engine
from ehfl.learning.server import Server
from ehfl.learning.tasks.contract import Task
from ehfl.learning.tasks.examples import Items, add_to
from ehfl.scheduling import Lockstep, Participation, check_target
from ehfl.theory import PlainFunction, StepSize


def described(
    engine: Engine,
    server: Server,
    aggregation: Aggregation,
    played: Participation | Lockstep,
    step_size: StepSize,
    etas: FloatArray | None,
    rounds: int | None = None,
) -> dict[str, Any]:
    """Return the identity of a run's first `rounds` rounds, by default all: that of a run that may be extended to it.

    `etas` are its step sizes, known in advance if the participants are.
    """
    rounds = played.rounds if rounds is None else rounds
    found = {
        "task": engine.task.name,
        "data": data_digest(engine.task),
        "parameters": server.model.weights.numel(),
        **asdict(engine.rule),
        "aggregation": _value(aggregation),
        "seed": server.seed,
        "rounds": rounds,
        "clients": played.n_clients,
        "device": engine.training.targets.device.type,
        "partition": _digest(engine.parts),
    }
    if isinstance(played, Participation):
        assert etas is not None
        turns = played.offsets[rounds]
        by_turn = [values[:turns] for values in (played.indices, played.weights, played.steps) if values is not None]
        who = _digest([played.offsets[: rounds + 1], *by_turn])
        return found | {"participation": who, "step_sizes": _digest([etas[:rounds]])}
    fleet = played.fleet
    by_step = fleet.step_costs
    steps = [] if by_step is None else [np.array([by_step.steps]), by_step.step]
    weather = fleet.harvest.units(played.seed, range(rounds), range(fleet.clients))
    return found | {
        "scheduler": _value(played.scheduler),
        "schedule_seed": played.seed,
        "target": check_target(fleet, played.target),
        "harvest": _digest([np.asarray(weather)]),
        "batteries": _digest([fleet.costs, fleet.ceilings, fleet.start(), *steps]),
        "step_size": _value(step_size),
    }


def data_digest(task: Task) -> str:
    """Return the fingerprint of a task's examples."""
    digest = hashlib.sha256()
    for examples in (task.training, task.test):
        if isinstance(examples.inputs, Items):
            digest.update(examples.inputs.digest.encode())
        else:
            names = sorted(examples.inputs) if isinstance(examples.inputs, dict) else ()
            digest.update("".join(names).encode())
            add_to(digest, examples.inputs)
        add_to(digest, examples.targets)
        digest.update(b"" if examples.users is None else examples.users.tobytes())
    return digest.hexdigest()[:16]


def _value(thing: object) -> str:
    """Return a stable text: an object's class and parameters, or a function's name; never a memory address."""
    if isinstance(thing, PlainFunction):
        thing = thing.function
    if is_dataclass(thing):
        return repr(thing)
    named: Any = thing if isinstance(thing, FunctionType) else type(thing)
    return f"{named.__module__}.{named.__qualname__}"


def _digest(arrays: Sequence[NDArray[np.generic]]) -> str:
    """Return a short fingerprint of arrays and their lengths."""
    digest = hashlib.sha256()
    for array in arrays:
        # Widen integers and floats, because the default integer type differs between platforms.
        wide = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        digest.update(f"{array.size}:".encode() + wide.tobytes())
    return digest.hexdigest()[:16]
