"""A spec in Flower's simulation: the server app in this process, nodes in Ray's processes."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehfl.experiment.run.cluster import OWN_RAY
from ehfl.flower.installed import check_simulation
from ehfl.flower.processes import PRIVATE
from ehfl.validation import UserError, one_line

if TYPE_CHECKING:
    from flwr.app import Context
    from flwr.serverapp import Grid

    from ehfl.experiment import Outcome, Spec
    from ehfl.experiment.run.compare import OnLook

ENVIRONMENT = PRIVATE | OWN_RAY  # OWN_RAY is read when Ray is imported
_BEGIN_SECONDS = 1.0  # for the server's thread to start
_LOOK_SECONDS = 0.2  # between checks whether the server must stop
_END_SECONDS = 10.0  # for the server to stop; one that is stuck in user code is abandoned
# Always start a local Ray, even if a cluster exists: nodes keep their accounts on this machine. No dashboard, no log.
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
    """Play all arms and seeds of the spec in Flower's simulation; return their outcomes."""
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
    failures: list[BaseException] = []
    server, begun, stopped, over = ServerApp(), threading.Event(), threading.Event(), threading.Event()

    def sleep(seconds: float) -> None:
        if stopped.wait(seconds):
            raise KeyboardInterrupt

    def work(grid: Grid) -> None:
        try:
            outcomes.extend(serve(spec, runs, Exchange(grid, sleep=sleep), on_look))
        except KeyboardInterrupt:
            pass  # the main thread asked for it
        except BaseException as error:
            failures.append(error)
        finally:
            over.set()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        begun.set()
        # Python waits for Flower's thread when it ends, but not for this one, which may be stuck in user code.
        threading.Thread(target=work, args=(grid,), name="ehfl-server", daemon=True).start()
        while not over.wait(_LOOK_SECONDS) and not stopped.is_set():
            pass
        over.wait(_END_SECONDS)
        if failures:
            raise failures[0]

    nodes = max(arm.setting.fleet.clients for arm in spec.arms)
    accounts = (runs / spec.name / "nodes").absolute()
    try:
        _start_ray()
        run_simulation(server, client_app(bundle_of(spec), accounts), nodes, backend_config=RAY)
    except (RuntimeError, ConnectionError) as error:  # Flower wraps Ray's errors in these
        raise UserError(f"Flower's simulation broke down: {one_line(error.__cause__ or error)}") from error
    finally:
        # Flower runs the server in a thread and does not notify it when the user stops the run or Ray fails.
        stopped.set()
        if begun.wait(_BEGIN_SECONDS):
            over.wait(_END_SECONDS)
    return outcomes


def _start_ray() -> None:
    """Start Ray as Flower would, and keep ehfl's SIGTERM handler: Ray's ends Python with a different exit code."""
    import ray

    kept = signal.getsignal(signal.SIGTERM)
    ray.init(runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}}, **RAY["init_args"])
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, kept)
