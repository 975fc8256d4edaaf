"""One run of a spec on a deployment on this machine: starts all processes, watches the run and stops them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ehfl.experiment import Outcome, Run, Spec
from ehfl.experiment.run.execute import check_clients, check_extension
from ehfl.experiment.run.folder import Follower, list_runs
from ehfl.flower.app.project import write_app
from ehfl.flower.local.deployment import Deployment
from ehfl.machine import check_memory
from ehfl.runs import Devices, Record, RunFolder, Tail, sole_use
from ehfl.validation import printable, short


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """The status of one node, from the recorded rounds."""

    heard: bool = False  # whether it answered in the last round
    running: bool = True  # whether its process runs, if it is on this machine
    energy: int | None = None  # last report [units]
    took_part: int = 0  # rounds
    lost: int = 0  # rounds in which its update was not used
    reason: str = ""  # of the last loss


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of a run on devices, and its nodes."""

    rounds: int  # played
    total: int  # to play
    metric: float | None  # of the last evaluation
    nodes: tuple[NodeStatus, ...]
    earlier: int = 0  # rounds played before the watcher started
    stopping: bool = False  # whether its processes are being ended


class Watcher:
    """Reads the lines added to a run's rounds.jsonl since the last call."""

    def __init__(self, rounds: Path, total: int, n_clients: int) -> None:
        self._tail = Tail(rounds)
        self._total = total
        self._earlier: int | None = None
        self._fresh = self._nodes = (NodeStatus(),) * n_clients

    def look(self, running: Mapping[int, bool] | None = None) -> Status:
        """Return the run's status; `running` tells which nodes' processes run."""
        for record in self._tail.read():
            self._take(record)
        if self._earlier is None:
            self._earlier = self._tail.rounds
        alive = running or {}
        nodes = (replace(node, running=alive.get(client, True)) for client, node in enumerate(self._nodes))
        return Status(self._tail.rounds, self._total, self._tail.metric, tuple(nodes), self._earlier)

    def _take(self, record: Record) -> None:
        before = self._fresh if record.round == 0 else self._nodes  # a truncated file is read from its start
        if record.devices is not None:
            seen = record.devices
            self._nodes = tuple(_after(node, client, seen) for client, node in enumerate(before))


def _after(node: NodeStatus, client: int, seen: Devices) -> NodeStatus:
    """Return a node after one more round."""
    energy = seen.energy[client]
    reason = seen.lost.get(client)
    return NodeStatus(
        heard=energy is not None,
        energy=node.energy if energy is None else energy,
        took_part=node.took_part + (client in seen.took_part),
        lost=node.lost + (reason is not None),
        reason=node.reason if reason is None else reason,
    )


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
    check_extension(run, folder)
    if not folder.finished_after(run.setting.rounds):
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

    def finished() -> bool:  # a run that is extended says so before its server begins
        return folder.finished and watcher.look().rounds >= run.setting.rounds

    follower = Follower([run], folder.path.parent, "metric")
    ask_at = time.monotonic() + _ASK_SECONDS
    while True:
        on_status(watcher.look({client: node.alive for client, node in up.nodes.items()}))
        if fault := follower.look()[0].error or _broken(up):
            return fault
        if finished():
            return None
        if time.monotonic() > ask_at and not up.servers():  # the server starts a moment after the submission
            status, details = up.state(run_id)
            if status.startswith("finished") and not finished():
                return f"{short(printable(details), 300)} ({up.folder / 'superlink.log'})"
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
