"""What a run's spec stands for on a node: its fleet, which needs neither torch nor pydantic, and what trains clients.

In a simulation the nodes of a run share a process, so what is the same for all of them is made once.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ehfl import own_code
from ehfl.energy import Fleet
from ehfl.experiment import building
from ehfl.flower.traces import with_own_harvest
from ehfl.run_folder import Facts

if TYPE_CHECKING:
    from ehfl.experiment import Run
    from ehfl.learning.engine import Engine

_ANY_HARVEST = {"name": "bernoulli", "rate": 0.5}  # the spec's own may need a file that only the server has


@lru_cache(maxsize=2)
def run_facts(spec: str) -> Facts:
    """Return what a run's spec says, less the folder with classes of the user's own where that is not on this node."""
    facts = tomllib.loads(spec)
    if "code" in facts and not Path(facts["code"]).is_dir():
        del facts["code"]  # on a device they come with the app
    return facts


@lru_cache(maxsize=2)
def fleet_of(spec: str, harvest: str | None) -> Fleet:
    """Return the fleet of the run, with the node's own harvest where it has one."""
    facts = run_facts(spec)
    table = facts["fleet"] | {"steps": facts["learning"]["local_steps"]}
    with own_code.held(facts.get("code", str(Path.cwd()))):
        if harvest is None:
            return building.fleet_in(table)
        return with_own_harvest(building.fleet_in(table | {"harvest": _ANY_HARVEST}), harvest)


@lru_cache(maxsize=1)
def engine_of(spec: str, data: str | None = None, *, owns_all: bool = False) -> Engine:
    """Return what trains clients of the run, each on its share of the data, or on all that there are here."""
    import numpy as np

    from ehfl.learning import deal
    from ehfl.learning.device import pick_device
    from ehfl.learning.engine import Engine
    from ehfl.learning.first_model import initial_model

    run = _run(spec, data)
    setting = run.setting
    with own_code.held(run.spec.code):
        task = building.task_of(setting)
        clients, device = setting.fleet.clients, pick_device(setting.learning.device)
        everything = np.arange(len(task.training.targets))
        parts = [everything] * clients if owns_all else deal(task, clients, building.partition_of(setting), run.seed)
        model = initial_model(task, run.seed, device)
        return Engine(task, model, parts, building.local_sgd_of(setting), seed=run.seed, device=device)


def _run(spec: str, data: str | None) -> Run:
    """Return the run, its data where they lie on this node; nobody harvests anything while training."""
    from ehfl.experiment import make_spec

    facts = run_facts(spec)
    here = {} if data is None else {"data": data}
    fleet, learning = facts["fleet"] | {"harvest": _ANY_HARVEST}, facts["learning"] | here
    (run,) = make_spec(facts | {"fleet": fleet, "learning": learning}).runs()
    return run
