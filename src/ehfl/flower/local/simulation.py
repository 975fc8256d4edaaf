"""A spec in Flower's simulation: the server app in this process, nodes in Ray's processes."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from ehfl.experiment.run.cluster import OWN_RAY
from ehfl.extras import check_extra
from ehfl.flower.local.processes import PRIVATE
from ehfl.validation import UserError, one_line

if TYPE_CHECKING:
    from flwr.app import Context
    from flwr.serverapp import Grid

    from ehfl.experiment import Outcome, Spec
    from ehfl.experiment.run.compare import OnLook

ENVIRONMENT = PRIVATE | OWN_RAY  # OWN_RAY is read when Ray is imported
_BEGIN_SECONDS = 1.0  # for the server's thread to start
_LOOK_SECONDS = 0.2  # between checks whether the server must stop
_END_SECONDS = 10.0  # for the server to stop, and for the nodes; who is stuck in user code is abandoned, or killed
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
    check_extra("flower-simulation")
    os.environ.update(ENVIRONMENT)
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    from ehfl.flower.app.specs import bundle_of
    from ehfl.flower.node.client_app import client_app
    from ehfl.flower.server.server_app import serve
    from ehfl.flower.wire.exchange import Exchange

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
        with _stopped_in_order(stopped):
            run_simulation(server, client_app(bundle_of(spec), accounts), nodes, backend_config=RAY)
    except (RuntimeError, ConnectionError) as error:  # Flower wraps Ray's errors in these
        raise UserError(f"Flower's simulation broke down: {one_line(error.__cause__ or error)}") from error
    finally:
        # Flower runs the server in a thread and does not notify it when the user stops the run or Ray fails.
        stopped.set()
        if begun.wait(_BEGIN_SECONDS):
            over.wait(_END_SECONDS)
    return outcomes


@contextmanager
def _stopped_in_order(stopped: threading.Event) -> Iterator[None]:
    """While entered, a signal sets `stopped` and Flower ends by itself; at the end the signal does what it did before.

    An exception in Flower's main loop would shut Ray down while Flower's threads wait for results from it. Such a
    thread never returns, and Python waits for it when it ends. Nodes that do not finish in time are killed, which
    fails their tasks and so frees the threads.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    received: list[int] = []
    last_resort = threading.Timer(_END_SECONDS, _kill_nodes)
    last_resort.daemon = True

    def stop(number: int, frame: FrameType | None) -> None:
        if not received:
            received.append(number)
            stopped.set()
            last_resort.start()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except Exception:
        if not received:
            raise  # else it is what the killed nodes left behind
    finally:
        last_resort.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])


def _kill_nodes() -> None:
    """Kill Ray's processes that run nodes, named `ray::...`; Ray itself goes on."""
    import psutil

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::"):
                process.kill()


def _start_ray() -> None:
    """Start Ray as Flower would, and keep ehfl's SIGTERM handler: Ray's ends Python with a different exit code."""
    import ray

    kept = signal.getsignal(signal.SIGTERM)
    ray.init(runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}}, **RAY["init_args"])
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, kept)
