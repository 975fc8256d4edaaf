"""The objects that a node builds from its spec: its fleet, without torch or pydantic, and its trainer.

In a simulation the nodes of a run share a process, so objects that are equal for all of them are cached.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ehfl import user_code
from ehfl.energy import Fleet
from ehfl.experiment.spec import build
from ehfl.flower.app.bundle import NodeRun
from ehfl.flower.node.traces import with_own_harvest

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
    import numpy as np

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
