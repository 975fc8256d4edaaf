"""What a node builds of its own spec: its fleet, which needs neither torch nor pydantic, and what trains clients.

In a simulation the nodes of a run share a process, so what is the same for all of them is made once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ehfl import own_code
from ehfl.energy import Fleet
from ehfl.experiment import building
from ehfl.flower.bundle import NodeRun
from ehfl.flower.traces import with_own_harvest

if TYPE_CHECKING:
    from ehfl.experiment import Run
    from ehfl.learning.engine import Engine

_ANY_HARVEST = {"name": "bernoulli", "rate": 0.5}  # the spec's own may need a file that only the server has


@lru_cache(maxsize=2)
def fleet_of(run: NodeRun, harvest: str | None) -> Fleet:
    """Return the fleet of the run, with the node's own harvest where it has one."""
    facts = run.facts()
    table = facts["fleet"] | {"steps": facts["learning"]["local_steps"]}
    with own_code.held(run.code):
        if harvest is None:
            return building.fleet_in(table)
        return with_own_harvest(building.fleet_in(table | {"harvest": _ANY_HARVEST}), harvest)


@lru_cache(maxsize=1)
def engine_of(node_run: NodeRun, data: str | None = None, *, owns_all: bool = False) -> Engine:
    """Return what trains clients of the run, each on its share of the data, or on all that there are here."""
    import numpy as np

    from ehfl.learning import deal
    from ehfl.learning.device import pick_device
    from ehfl.learning.engine import Engine
    from ehfl.learning.first_model import initial_model

    run = _run(node_run, data)
    setting = run.setting
    with own_code.held(run.spec.code):
        task = building.task_of(setting)
        clients, device = setting.fleet.clients, pick_device(setting.learning.device)
        everything = np.arange(len(task.training.targets))
        parts = [everything] * clients if owns_all else deal(task, clients, building.partition_of(setting), run.seed)
        model = initial_model(task, run.seed, device)
        return Engine(task, model, parts, building.local_sgd_of(setting), seed=run.seed, device=device)


def _run(run: NodeRun, data: str | None) -> Run:
    """Return the run, its data where they lie on this node; training needs no harvest."""
    from ehfl.experiment import make_spec

    facts = run.facts()
    here = {} if data is None else {"data": data}
    fleet, learning = facts["fleet"] | {"harvest": _ANY_HARVEST}, facts["learning"] | here
    (read,) = make_spec(facts | {"fleet": fleet, "learning": learning}).runs()
    return read
