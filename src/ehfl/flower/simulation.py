"""A spec in Flower's simulation: its server app here, its nodes in processes of Ray's."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehfl.experiment.cluster import OWN_RAY
from ehfl.flower.installed import check_simulation
from ehfl.flower.processes import PRIVATE
from ehfl.validation import UserError, one_line

if TYPE_CHECKING:
    from flwr.app import Context
    from flwr.serverapp import Grid

    from ehfl.experiment import Outcome, Spec
    from ehfl.experiment.runner import OnLook

ENVIRONMENT = PRIVATE | OWN_RAY  # of which the latter is read when Ray is imported
_BEGIN_SECONDS = 1.0  # for a server's thread that was just started
# A Ray of our own, whatever cluster there is: nodes keep their accounts here. It has no page of its own, and is quiet.
RAY: dict[str, dict[str, Any]] = {
    "init_args": {
        "address": "local",
        "include_dashboard": False,
        "log_to_driver": False,
        "logging_level": "ERROR",
    },
    "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
}


def simulate(spec: Spec, runs: Path, on_look: OnLook | None = None) -> list[Outcome]:
    """Play all arms and seeds of the spec in Flower's simulation; return how each run ended."""
    check_simulation()
    os.environ.update(ENVIRONMENT)
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    from ehfl.flower.client import client_app
    from ehfl.flower.exchange import Exchange
    from ehfl.flower.server import serve
    from ehfl.flower.specs import bundle_of

    logging.getLogger("flwr").setLevel(logging.ERROR)
    outcomes: list[Outcome] = []
    server, begun, stopped, over = ServerApp(), threading.Event(), threading.Event(), threading.Event()

    def sleep(seconds: float) -> None:
        if stopped.wait(seconds):
            raise KeyboardInterrupt

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        begun.set()
        try:
            outcomes.extend(serve(spec, runs, Exchange(grid, sleep=sleep), on_look))
        except KeyboardInterrupt:
            pass  # the main thread knows why
        finally:
            over.set()

    nodes = max(arm.setting.fleet.clients for arm in spec.arms)
    accounts = (runs / spec.name / "nodes").absolute()
    try:
        run_simulation(server, client_app(bundle_of(spec), accounts), nodes, backend_config=RAY)
    except RuntimeError as error:  # Flower's, of whatever Ray raised
        raise UserError(f"Flower's simulation broke down: {one_line(error.__cause__ or error)}") from error
    finally:
        # Flower runs the server in a thread of its own, and tells it nothing when the user stops it or Ray breaks down.
        stopped.set()
        if begun.wait(_BEGIN_SECONDS):
            over.wait()
    return outcomes
