"""A spec in Flower's simulation: its server app here, its nodes in processes of Ray's."""

from __future__ import annotations

import importlib.util
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehfl.validation import UserError

if TYPE_CHECKING:
    from flwr.app import Context
    from flwr.serverapp import Grid

    from ehfl.experiment import Outcome, Spec
    from ehfl.experiment.runner import OnLook

ENVIRONMENT = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_USAGE_STATS_ENABLED": "0"}
# Ray for this machine alone: its ports on loopback, no page of its own, and quiet.
_RAY: dict[str, dict[str, Any]] = {
    "init_args": {
        "_node_ip_address": "127.0.0.1",
        "include_dashboard": False,
        "log_to_driver": False,
        "logging_level": "ERROR",
    },
    "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
}


def simulate(spec: Spec, runs: Path, on_look: OnLook | None = None) -> list[Outcome]:
    """Play all arms and seeds of the spec in Flower's simulation; return how each run ended."""
    if importlib.util.find_spec("ray") is None or importlib.util.find_spec("flwr") is None:
        raise UserError("Flower's simulation needs flwr and Ray: pip install 'ehfl[flower-simulation]'")
    os.environ.update(ENVIRONMENT)
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    from ehfl.flower.client import client_app
    from ehfl.flower.server import serve

    logging.getLogger("flwr").setLevel(logging.ERROR)
    outcomes: list[Outcome] = []
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        outcomes.extend(serve(spec, runs, grid, on_look))

    nodes = max(arm.setting.fleet.clients for arm in spec.arms)
    ledgers = (runs / spec.name / "nodes").absolute()
    run_simulation(server, client_app(ledgers), nodes, backend_config=_RAY)
    return outcomes
