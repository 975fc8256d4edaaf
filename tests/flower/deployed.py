"""A run on a real SuperLink and SuperNodes, for tests that look at it while it goes on, and break it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from ehfl.experiment import Spec
from ehfl.flower import Deployment, write_app
from ehfl.history import Devices, Record, read_history
from ehfl.run_folder import RunFolder


def wait_for(found: Callable[[], object], seconds: float, what: str) -> None:
    """Look until something is so, for a bounded time."""
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.05)


@dataclass
class Running:
    """One run of a spec on a deployment: its folder, its nodes' ledgers and what is heard of it."""

    up: Deployment
    spec: Spec
    folder: Path

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.folder / "runs" / self.spec.name / self.spec.runs()[0].folder_name)

    @property
    def clients(self) -> range:
        return range(self.spec.base.fleet.clients)

    def start_node(self, client: int) -> None:
        self.up.start_node(client, state=str(self.folder / "nodes"))

    def submit(self) -> int:
        """Hand the app to the SuperLink, the same whenever it is done."""
        write_app(self.folder / "app", self.spec, self.folder / "runs")
        return self.up.submit(self.folder / "app")

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
        files = list((self.folder / "nodes" / f"client-{client}").glob("*.json"))
        assert len(files) <= 1, "a run has one ledger, however often it is begun"
        found: dict[str, Any] = json.loads(files[0].read_text()) if files else {}
        return found

    def paid(self, client: int, t: int) -> bool:
        """Return whether a client has paid for round t, and the server has gone no further."""
        ledger = self.ledger(client)
        return bool(ledger and ledger["round"] == t and ledger["paid"])

    def told(self) -> str:
        """Return the last lines of the server's log."""
        log = self.folder / "up" / "superlink.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-30:]) if log.exists() else "nothing"


@contextmanager
def running(folder: Path, spec: Spec, *, database: bool = False) -> Iterator[Running]:
    """Have all clients of the spec as nodes, and its app submitted; in the end nothing of it is left."""
    seen: list[psutil.Process] = []
    with Deployment(folder / "up", database=folder / "state.db" if database else None) as up:
        found = Running(up, spec, folder)
        for client in found.clients:
            found.start_node(client)
        found.submit()
        try:
            yield found
        finally:
            assert up.superlink is not None
            seen = [one for process in (up.superlink, *up.nodes.values()) for one in process.descendants()]
    left = [one for one in seen if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    assert left == []
