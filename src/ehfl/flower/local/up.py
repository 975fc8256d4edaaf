"""One run of a spec on a deployment on this machine: starts all processes, watches the run and stops them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ehfl.experiment import Outcome, Run, Spec
from ehfl.experiment.run.execute import check_clients
from ehfl.experiment.run.folder import Follower, list_runs
from ehfl.flower.app.project import write_app
from ehfl.flower.local.deployment import Deployment
from ehfl.flower.local.status import Status, Watcher
from ehfl.machine import check_memory
from ehfl.runs import RunFolder, sole_use
from ehfl.validation import printable, short

OnStatus = Callable[[Status], None]
_LOOK_SECONDS = 0.5
_BYTES_A_NODE = 1.8e8  # a SuperNode and its app launcher, without a running app
_ASK_SECONDS = 10.0  # between queries to the SuperLink, each of which starts a Python process


def check_room(run: Run) -> None:
    """Raise an error if the nodes do not fit in memory."""
    clients = run.setting.fleet.clients
    check_memory("fleet.clients", clients, clients * _BYTES_A_NODE)


def run_up(spec: Spec, run: Run, runs: Path, on_status: OnStatus) -> Outcome:
    """Play one run of a spec on a SuperLink with one SuperNode per client, and return its outcome.

    `spec` and `run` come from `for_flower`. After an interrupt or a kill, the same call resumes: the server from its
    checkpoint, each node from its account, all in the experiment's folder. All processes have ended when this returns
    or raises.
    """
    check_room(run)
    experiment = runs / spec.name
    folder = RunFolder(experiment / run.folder_name)
    folder.check_free_for(run.facts())
    check_clients(folder, on_devices=True)
    if not folder.finished:
        experiment.mkdir(parents=True, exist_ok=True)
        with sole_use(experiment):  # the server locks it later: fail now instead of in the server's log
            pass
        if error := _deployed(spec, run, runs, on_status):
            return Outcome(run.arm.label, run.seed, error)
    list_runs(spec, run, experiment)
    return Outcome(run.arm.label, run.seed)


def _deployed(spec: Spec, run: Run, runs: Path, on_status: OnStatus) -> str | None:
    """Start a deployment, show its run's status until it ends, and return an error in one line, or None."""
    experiment = runs / spec.name
    folder = RunFolder(experiment / run.folder_name)
    watcher = Watcher(folder.rounds, run.setting.rounds, run.setting.fleet.clients)
    on_status(watcher.look())
    with Deployment(experiment / "deployment") as up:
        try:
            write_app(up.folder / "app", spec, runs, arm=run.arm.label, seed=run.seed)
            for client in range(run.setting.fleet.clients):
                up.start_node(client, state=str((experiment / "nodes").absolute()))
            return _watch(up, up.submit(up.folder / "app"), run, folder, watcher, on_status)
        finally:  # stopping takes some seconds, so the display shows it
            on_status(replace(watcher.look(), stopping=True))


def _watch(
    up: Deployment, run_id: int, run: Run, folder: RunFolder, watcher: Watcher, on_status: OnStatus
) -> str | None:
    """Show the run's status until it ends, and return an error in one line, or None."""
    follower = Follower([run], folder.path.parent, "metric")
    ask_at = time.monotonic() + _ASK_SECONDS
    while True:
        on_status(watcher.look({client: node.alive for client, node in up.nodes.items()}))
        if fault := follower.look()[0].error or _broken(up):
            return fault
        if folder.finished:
            return None
        if time.monotonic() > ask_at and not up.servers():  # the server starts a moment after the submission
            state = up.state(run_id)
            if state.over and not folder.finished:
                return f"{short(printable(state.details), 300)} ({up.folder / 'superlink.log'})"
            ask_at = time.monotonic() + _ASK_SECONDS
        time.sleep(_LOOK_SECONDS)


def _broken(up: Deployment) -> str | None:
    """Return why the run cannot continue, if its processes have ended by themselves."""
    assert up.superlink is not None
    if not up.superlink.alive:
        return f"the SuperLink ended: {up.superlink.last_words()} ({up.superlink.log})"
    if any(node.alive for node in up.nodes.values()):
        return None
    return f"no node runs any more: {up.nodes[0].last_words()} ({up.nodes[0].log})"
