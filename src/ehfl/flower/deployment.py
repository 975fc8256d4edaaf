"""A real Flower deployment on this machine: a SuperLink and SuperNodes as processes on loopback."""

from __future__ import annotations

import http.client
import os
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
import tomli_w

from ehfl.files import sole_use, write_text
from ehfl.flower.flwr_cli import RunState, ask, key_value_pairs
from ehfl.flower.ports import HOST, free_port
from ehfl.flower.processes import Process, flower_environment, program
from ehfl.validation import InvalidValue, UserError

NAME = "ehfl"  # of the connection in config.toml
INSECURE = ("--insecure",)  # no TLS: everything stays on loopback
_READY_SECONDS = 60.0
_LOOK_SECONDS = 0.1
_SERVER_APP = "flwr-serverapp"  # the program that runs the app's server


class Deployment:
    """A SuperLink and its SuperNodes, from entering the context to leaving it.

    All their files lie in `folder`, which no other deployment can use at the same time: a log and a home of Flower's
    for each process. With a `database` the SuperLink remembers runs when it is started again. On leaving, however that
    comes, every process and what it has started is gone; should this process itself be killed, guards end them
    (`guard.py`). `threads` is what OMP_NUM_THREADS says on nodes: several of them share the cores here, and each would
    take them all.
    """

    def __init__(
        self,
        folder: Path,
        *,
        database: Path | None = None,
        superlink_options: Sequence[str] = INSECURE,
        connection: Mapping[str, Any] | None = None,
        threads: int = 1,
        patience: float = 8.0,
    ) -> None:
        self.folder = folder.absolute()
        self.address = ""  # of the SuperLink, once it is up
        self.superlink: Process | None = None
        self.nodes: dict[int, Process] = {}
        self._database = database
        self._superlink_options = tuple(superlink_options)
        self._connection = {"insecure": True} if connection is None else dict(connection)
        self._threads = {"OMP_NUM_THREADS": str(threads)}
        self._patience = patience
        self._lock = ExitStack()

    def __enter__(self) -> Deployment:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock.enter_context(sole_use(self.folder))
        try:
            self.address = f"{HOST}:{free_port()}"
            home = self._home("flwr")
            home.mkdir(parents=True, exist_ok=True)
            known = {"superlink": {"default": NAME, NAME: {"address": self.address, **self._connection}}}
            write_text(home / "config.toml", tomli_w.dumps(known))
            self.start_superlink()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def start_superlink(self) -> None:
        """Start the SuperLink, at the same address as before, and wait until it answers."""
        port = self.address.rpartition(":")[2]
        kept = [] if self._database is None else ["--database", str(self._database.absolute())]
        command = [program("flower-superlink"), *self._superlink_options, "--host", HOST, "--port", port, *kept]
        self.superlink = self._started("superlink", command)
        deadline = time.monotonic() + _READY_SECONDS
        while not _answers(self.address, secure="--insecure" not in self._superlink_options):
            if not self.superlink.alive:
                raise UserError(f"the SuperLink did not start: {self.superlink.last_words()} ({self.superlink.log})")
            if time.monotonic() > deadline:
                raise UserError(f"the SuperLink did not answer in {_READY_SECONDS:.0f} s ({self.superlink.log})")
            time.sleep(_LOOK_SECONDS)

    def start_node(self, client: int, *, options: Sequence[str] = INSECURE, **config: str | int | float) -> None:
        """Start the SuperNode that is a client; `config` is what it is told of itself, underscores for dashes."""
        if client in self.nodes and self.nodes[client].alive:
            raise InvalidValue("client", "one whose node does not run", client)
        told = {"client-id": client} | {name.replace("_", "-"): value for name, value in config.items()}
        place = ["--superlink", self.address, "--host", HOST, "--port", str(free_port())]
        command = [program("flower-supernode"), *options, *place, "--node-config", key_value_pairs(told)]
        self.nodes[client] = self._started(f"node-{client}", command, self._threads)

    def kill_node(self, client: int) -> None:
        """Cut a node's power: it and all that it started are gone at once, and tell nobody."""
        self.nodes[client].kill()

    def kill_superlink(self) -> None:
        """Cut the SuperLink's power; the app's server runs under it and goes with it."""
        assert self.superlink is not None
        self.superlink.kill()

    def submit(self, app: Path, **run_config: str | int | float) -> int:
        """Hand an app project to the SuperLink, which runs it at once, and return the run's id."""
        changes = ["--run-config", key_value_pairs(run_config)] if run_config else []
        return int(ask(self._home("flwr"), "run", str(app.absolute()), NAME, *changes)["run-id"])

    def state(self, run_id: int) -> RunState:
        """Return what the SuperLink says of a run; this takes it a second or two."""
        found = ask(self._home("flwr"), "list", NAME, "--run-id", str(run_id))["runs"][0]
        return RunState(found["status"], found["status-details"] or "")

    def servers(self) -> list[psutil.Process]:
        """Return the processes that run an app's server."""
        under = [] if self.superlink is None else self.superlink.descendants()
        return [one for one in under if _runs_program(one, _SERVER_APP)]

    def stop_servers(self) -> None:
        """End the app's server first: what else ends after it is no loss that it could write down."""
        found = self.servers()
        for one in found:
            with suppress(psutil.NoSuchProcess):
                one.kill()  # a run folder survives that at any moment
        psutil.wait_procs(found, self._patience)

    def close(self) -> None:
        """End the app's server, then the nodes, then the SuperLink; nothing is left when this returns."""
        try:
            self.stop_servers()
            for node in self.nodes.values():
                node.ask_to_stop()
            for process in self._processes():
                process.stop()
        finally:
            for process in self._processes():
                process.kill()
            self._lock.close()

    def _processes(self) -> list[Process]:
        return [*self.nodes.values(), *([] if self.superlink is None else [self.superlink])]

    def _started(self, name: str, command: Sequence[str], more: Mapping[str, str] | None = None) -> Process:
        environment = flower_environment(self._home(name), more)
        return Process(command, environment, self.folder / f"{name}.log", self._patience)

    def _home(self, name: str) -> Path:
        return self.folder / "homes" / name


def _answers(address: str, *, secure: bool) -> bool:
    """Return whether a SuperLink says that it is well; it is asked directly, not through the user's proxy."""
    unverified = ssl._create_unverified_context()  # whose certificate it is does not matter for this question
    made = http.client.HTTPSConnection(address, context=unverified) if secure else http.client.HTTPConnection(address)
    made.timeout = 5
    with closing(made) as connection, suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    return False


def _runs_program(process: psutil.Process, name: str) -> bool:
    try:
        return any(os.path.basename(word) == name for word in process.cmdline()[:2])  # noqa: PTH119
    except psutil.Error:
        return False
