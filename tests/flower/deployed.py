"""A run on a real SuperLink and SuperNodes, for tests that look at it while it goes on, and break it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from torch import Tensor, nn

from ehfl import load_model
from ehfl.experiment import Spec, read_spec, run_all
from ehfl.flower import Deployment, write_app
from ehfl.flower.local.processes import flower_environment, program
from ehfl.runs import Devices, Record, RunFolder, read_history
from ehfl.scheduling import Participation
from waiting import still_running, wait_for

COMMON = """
name = "faults"
seeds = [1]
learning.step_size = "nominal-causal"
learning.local_steps = 1
"""


def faulty_spec(folder: Path, module: str, text: str) -> Spec:
    """Return a spec whose task is that of `own_faults`, in a module of a name that no other test uses."""
    shutil.copy(Path(__file__).with_name("own_faults.py"), folder / f"{module}.py")
    (folder / "orders").mkdir()
    (folder / "spec.toml").write_text(f'{text}\nlearning.task = "{module}:Faulty"\n{COMMON}')
    return read_spec(folder / "spec.toml")


@dataclass
class Running:
    """One run of a spec on a deployment: its folder, its nodes' ledgers and what is heard of it."""

    up: Deployment
    spec: Spec
    folder: Path
    run_id: int = 0  # Flower's, of the last time that it was submitted

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.folder / "runs" / self.spec.name / self.spec.runs()[0].folder_name)

    @property
    def clients(self) -> range:
        return range(self.spec.base.fleet.clients)

    def start_node(self, client: int) -> None:
        self.up.start_node(client, state=str(self.folder / "nodes"))

    def submit(self) -> None:
        """Hand the app to the SuperLink, the same whenever it is done."""
        write_app(self.folder / "app", self.spec, self.folder / "runs")
        self.run_id = self.up.submit(self.folder / "app")

    def records(self) -> list[Record]:
        return read_history(self.run.rounds) if self.run.rounds.exists() else []

    def devices(self) -> list[Devices]:
        """Return what the server saw of its devices in each round so far."""
        return [record.devices for record in self.records() if record.devices is not None]

    def wait_for_rounds(self, number: int, seconds: float = 90) -> None:
        wait_for(lambda: len(self.records()) >= number, seconds, f"round {number} of\n{self.told()}")

    def wait_for_end(self, seconds: float = 90) -> None:
        wait_for(lambda: self.run.path.exists() and self.run.finished, seconds, f"the end of\n{self.told()}")

    def ledger(self, client: int) -> dict[str, Any]:
        """Return what a client's ledger says, nothing where there is none yet."""
        found = (self.folder / "nodes" / f"client-{client}").glob("*.json")
        files = [file for file in found if file.stem.isalnum()]  # the others are being written
        assert len(files) <= 1, "a run has one ledger, however often it is begun"
        facts: dict[str, Any] = json.loads(files[0].read_text()) if files else {}
        return facts

    def paid(self, client: int, t: int) -> bool:
        """Return whether a client has paid for round t, and the server has gone no further."""
        ledger = self.ledger(client)
        return bool(ledger and ledger["round"] == t and ledger["paid"])

    def log(self) -> str:
        """Return what the server's app has written; the SuperLink keeps it, and shows it to nobody else."""
        home = self.folder / "up" / "homes" / "flwr"
        shown = subprocess.run(
            [program("flwr"), "log", str(self.run_id), "ehfl", "--show"], env=flower_environment(home), cwd=home,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        return shown.stdout + shown.stderr

    def told(self) -> str:
        """Return the last lines of the server's log."""
        log = self.folder / "up" / "superlink.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-30:]) if log.exists() else "nothing"


def played_in_process(spec: Spec, folder: Path) -> RunFolder:
    """Play the one run of a spec in this process; return its folder."""
    assert [outcome.error for outcome in run_all(spec, folder / "runs" / spec.name, jobs=1)] == [None]
    return RunFolder(folder / "runs" / spec.name / spec.runs()[0].folder_name)


def assert_same_run(deployed: RunFolder, alone: RunFolder) -> None:
    """Participants and energies of every round are identical, and models agree to rounding."""
    one, other = Participation.load(alone.participation), Participation.load(deployed.participation)
    rounds = range(one.rounds)
    assert [other.clients(t).tolist() for t in rounds] == [one.clients(t).tolist() for t in rounds]
    np.testing.assert_array_equal(other.energy, one.energy)
    np.testing.assert_array_equal(other.spent, one.spent)
    assert other.totals == one.totals
    torch.testing.assert_close(_weights(deployed.path), _weights(alone.path), rtol=1e-6, atol=1e-7)


def _weights(folder: Path) -> Tensor:
    return nn.utils.parameters_to_vector(load_model(folder, trust=True).parameters()).detach()


@contextmanager
def running(folder: Path, spec: Spec, *options: str) -> Iterator[Running]:
    """Have all clients of the spec as nodes, and its app submitted; in the end nothing of it is left.

    `options` are the SuperLink's, besides that it keeps a database and has no TLS.
    """
    seen: list[psutil.Process] = []
    with Deployment(folder / "up", database=folder / "state.db", superlink_options=("--insecure", *options)) as up:
        found = Running(up, spec, folder)
        for client in found.clients:
            found.start_node(client)
        found.submit()
        try:
            yield found
        finally:
            assert up.superlink is not None
            seen = [one for process in (up.superlink, *up.nodes.values()) for one in process.descendants()]
    assert still_running(seen) == []
