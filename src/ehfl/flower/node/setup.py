"""The objects that a node builds from its spec: its fleet, without torch or pydantic, and its trainer.

In a simulation the nodes of a run share a process, so objects that are equal for all of them are cached.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ehfl import user_code
from ehfl.arrays import FloatArray, IntArray
from ehfl.energy import HARVESTS, Fleet, Harvest, Replay
from ehfl.experiment.spec import build
from ehfl.flower.app.bundle import NodeRun

if TYPE_CHECKING:
    from ehfl.experiment import Run
    from ehfl.learning.engine.engine import Engine
    from ehfl.learning.engine.flat import FlatModel

_ANY_HARVEST = {"name": "bernoulli", "rate": 0.5}  # the spec's own may need a file that only the server has


@lru_cache(maxsize=2)
def fleet_of(run: NodeRun, harvest: str | None) -> Fleet:
    """Return the fleet of the run, with the node's own harvest if it has one."""
    facts = run.facts()
    table = facts["fleet"] | {"steps": facts["learning"]["local_steps"]}
    with user_code.held(run.code):
        if harvest is None:
            return build.build_fleet(table)
        return with_own_harvest(build.build_fleet(table | {"harvest": _ANY_HARVEST}), harvest)


@lru_cache(maxsize=1)
def trainer_of(node_run: NodeRun, data: str | None = None, *, owns_all: bool = False) -> tuple[Engine, FlatModel]:
    """Return an engine that trains clients on their shares of the data or on all of it, and a model as its buffer."""
    from ehfl.learning import deal
    from ehfl.learning.engine.device import pick_device
    from ehfl.learning.engine.engine import Engine
    from ehfl.learning.first_model import initial_model

    run = _run(node_run, data)
    setting = run.setting
    with user_code.held(run.spec.code):
        task = build.task_of(setting)
        clients, device = setting.fleet.clients, pick_device(setting.learning.device)
        everything = np.arange(len(task.training.targets))
        parts = [everything] * clients if owns_all else deal(task, clients, build.partition_of(setting), run.seed)
        rule = build.local_sgd_of(setting)
        return Engine(task, parts, rule, device), initial_model(task, run.seed, device, rule.buffers)


def _run(run: NodeRun, data: str | None) -> Run:
    """Return the run with this node's data path, without the spec's harvest, which training does not need."""
    from ehfl.experiment import make_spec

    facts = run.facts()
    here = {} if data is None else {"data": data}
    fleet, learning = facts["fleet"] | {"harvest": _ANY_HARVEST}, facts["learning"] | here
    (read,) = make_spec(facts | {"fleet": fleet, "learning": learning}).runs()
    return read


@dataclass(frozen=True, eq=False, slots=True)
class OwnTrace:
    """The recorded harvest of one device, used for any client number."""

    recorded: Replay  # of a single column

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the recorded units for each of these clients, shape (n_rounds, n_clients)."""
        return np.repeat(self.recorded.units(seed, rounds, range(1)), len(clients), axis=1)

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the mean over the recorded rounds, shape (n_clients,)."""
        return np.repeat(self.recorded.mean_rates(1), n_clients)


def with_own_harvest(fleet: Fleet, given: object) -> Fleet:
    """Return the fleet with a node's own harvest, a string or a table.

    A trace has one column per client, as in a spec, or a single column, the node's own:

    >>> fleet = Fleet(clients=3, harvest="bernoulli:0.5", cost=2)
    >>> own = with_own_harvest(fleet, {"name": "replay", "arrivals": [[4], [0], [5]]})
    >>> own.harvest.units(seed=0, rounds=range(3), clients=range(2, 3)).tolist()
    [[4], [0], [5]]
    """
    harvest: Harvest = HARVESTS.make(given)
    if isinstance(harvest, Replay) and harvest.n_clients == 1:
        harvest = OwnTrace(harvest)
    return replace(fleet, harvest=harvest)
