"""One run of a spec on a real deployment of this machine, from its first process to its last."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ehfl.experiment import Outcome, Run, Spec
from ehfl.experiment.comparison_folder import list_runs
from ehfl.experiment.execution import check_clients
from ehfl.experiment.progress import Follower
from ehfl.files import sole_use
from ehfl.flower.deployment import Deployment
from ehfl.flower.project import write_app
from ehfl.flower.status import Status, Watcher
from ehfl.machine import check_memory
from ehfl.run_folder import RunFolder
from ehfl.validation import printable, short

OnStatus = Callable[[Status], None]
_LOOK_SECONDS = 0.5
_BYTES_A_NODE = 1.8e8  # a SuperNode and what it starts apps with, before there is any
_ASK_SECONDS = 10.0  # between questions to the SuperLink, each of which starts a Python process


def check_room(run: Run) -> None:
    """Refuse more nodes than the memory has room for."""
    clients = run.setting.fleet.clients
    check_memory("fleet.clients", clients, clients * _BYTES_A_NODE)


def run_up(spec: Spec, run: Run, runs: Path, on_status: OnStatus) -> Outcome:
    """Play one run of a spec on a SuperLink and a SuperNode a client, and return how it ended.

    Both are as they go to Flower (`for_flower`). Interrupted or killed, it goes on where it was when it is called
    again: the server from its checkpoint, each node from its own account, all of which lie in the experiment's folder.
    Nothing runs any more when this returns or raises.
    """
    check_room(run)
    experiment = runs / spec.name
    folder = RunFolder(experiment / run.folder_name)
    folder.check_free_for(run.facts())
    check_clients(folder, on_devices=True)
    if not folder.finished:
        experiment.mkdir(parents=True, exist_ok=True)
        with sole_use(experiment):  # the server will want it to itself: better refused now than in its log
            pass
        if error := _deployed(spec, run, runs, on_status):
            return Outcome(run.arm.label, run.seed, error)
    list_runs(spec, run, experiment)
    return Outcome(run.arm.label, run.seed)


def _deployed(spec: Spec, run: Run, runs: Path, on_status: OnStatus) -> str | None:
    """Start all of a deployment, show how its run stands until it is over, and return what went wrong in one line."""
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
        finally:  # ending takes some seconds, and who waits should know what for
            on_status(replace(watcher.look(), stopping=True))


def _watch(
    up: Deployment, run_id: int, run: Run, folder: RunFolder, watcher: Watcher, on_status: OnStatus
) -> str | None:
    """Show how the run stands until it is over, and return what went wrong in one line."""
    follower = Follower([run], folder.path.parent, "metric")
    ask_at = time.monotonic() + _ASK_SECONDS
    while True:
        on_status(watcher.look({client: node.alive for client, node in up.nodes.items()}))
        if fault := follower.look()[0].error or _broken(up):
            return fault
        if folder.finished:
            return None
        if time.monotonic() > ask_at and not up.servers():  # it is started a moment after it was handed in
            state = up.state(run_id)
            if state.over and not folder.finished:
                return f"{short(printable(state.details), 300)} ({up.folder / 'superlink.log'})"
            ask_at = time.monotonic() + _ASK_SECONDS
        time.sleep(_LOOK_SECONDS)


def _broken(up: Deployment) -> str | None:
    """Return why the run cannot go on, where its processes have ended by themselves."""
    assert up.superlink is not None
    if not up.superlink.alive:
        return f"the SuperLink ended: {up.superlink.last_words()} ({up.superlink.log})"
    if any(node.alive for node in up.nodes.values()):
        return None
    return f"no node runs any more: {up.nodes[0].last_words()} ({up.nodes[0].log})"
