"""A real Flower deployment on this machine: a SuperLink and SuperNodes as processes on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
import tomli_w

from ehfl.files import write_text
from ehfl.flower.local.processes import Process, flower_environment, program
from ehfl.runs import sole_use
from ehfl.validation import InvalidValue, UserError, printable, short

_ANSWER_SECONDS = 120.0  # of a flwr command


def ask(home: Path, *words: str) -> dict[str, Any]:
    """Return the JSON output of a flwr command with its settings in `home`; this takes a second or two."""
    try:
        answered = subprocess.run(
            [program("flwr"), *words, "--format", "json"], env=flower_environment(home), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=_ANSWER_SECONDS, cwd=home,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UserError(f"flwr {words[0]} did not answer in {_ANSWER_SECONDS:.0f} s") from None
    try:
        facts: dict[str, Any] = json.loads(answered.stdout)
    except ValueError:
        facts = {"error-message": answered.stderr or answered.stdout or f"exit code {answered.returncode}"}
    if not facts.get("success"):
        raise UserError(f"flwr {words[0]} failed: {short(printable(str(facts.get('error-message'))), 300)}")
    return facts


def key_value_pairs(values: Mapping[str, str | int | float]) -> str:
    """Return values in the format of Flower's command line: TOML pairs separated by spaces.

    >>> key_value_pairs({"client-id": 0, "state": "/home/ann b/ledgers"})
    "client-id=0 state='/home/ann b/ledgers'"
    """
    return " ".join(f"{name}={_in_toml(name, value)}" for name, value in values.items())


def _in_toml(name: str, value: str | int | float) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if "'" not in value and value.isprintable():
        return f"'{value}'"
    if (
        '"' in value or "\\" in value or not value.isprintable()
    ):  # Flower finds the end of a string by a regular expression
        raise InvalidValue(name, "a text in which not both kinds of quotes stand", value)
    return f'"{value}"'


HOST = "127.0.0.1"
# Below the ephemeral range: an outgoing connection could take the port of a SuperLink that restarts, and a node that
# reconnects could even connect to itself.
_FIRST, _LAST = 20_000, 32_000
_taken: set[int] = set()  # returned earlier, to programs that may not listen yet


def free_port() -> int:
    """Return a free port, a different one on every call."""
    start = _FIRST + os.getpid() * 97 % (_LAST - _FIRST)  # concurrent processes search different ranges
    for port in chain(range(start, _LAST), range(_FIRST, start)):
        if port not in _taken and _is_free(port):
            _taken.add(port)
            return port
    raise UserError(f"no port of {HOST} is free in [{_FIRST}, {_LAST})")


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as servers do: only listening sockets block the port
        try:
            one.bind((HOST, port))
        except OSError:
            return False
    return True


NAME = "ehfl"  # of the connection in config.toml
INSECURE = ("--insecure",)  # no TLS: everything stays on loopback
_READY_SECONDS = 60.0
_LOOK_SECONDS = 0.1
_ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # nodes share the cores of this machine, and each would use them all
_SERVER_APP = "flwr-serverapp"  # the program that runs the app's server


class Deployment:
    """A SuperLink and its SuperNodes, from entering the context to leaving it.

    All their files are in `folder`, which is locked against other deployments: a log and a Flower home for each
    process. With a `database` the SuperLink remembers runs across restarts. Leaving the context ends every process and
    its children; if this process is killed, guards end them (`guard.py`).
    """

    def __init__(
        self,
        folder: Path,
        *,
        database: Path | None = None,
        superlink_options: Sequence[str] = INSECURE,
        connection: Mapping[str, Any] | None = None,
        patience: float = 8.0,
    ) -> None:
        self.folder = folder.absolute()
        self.address = ""  # of the SuperLink, once it is up
        self.superlink: Process | None = None
        self.nodes: dict[int, Process] = {}
        self._database = database
        self._superlink_options = tuple(superlink_options)
        self._connection = {"insecure": True} if connection is None else dict(connection)
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
        while not _answers(self.address):
            if not self.superlink.alive:
                raise UserError(f"the SuperLink did not start: {self.superlink.last_words()} ({self.superlink.log})")
            if time.monotonic() > deadline:
                raise UserError(f"the SuperLink did not answer in {_READY_SECONDS:.0f} s ({self.superlink.log})")
            time.sleep(_LOOK_SECONDS)

    def start_node(self, client: int, *, options: Sequence[str] = INSECURE, **config: str | int | float) -> None:
        """Start the SuperNode of a client; `config` becomes its node-config, with dashes for underscores."""
        if client in self.nodes and self.nodes[client].alive:
            raise InvalidValue("client", "one whose node does not run", client)
        told = {"client-id": client} | {name.replace("_", "-"): value for name, value in config.items()}
        place = ["--superlink", self.address, "--host", HOST, "--port", str(free_port())]
        command = [program("flower-supernode"), *options, *place, "--node-config", key_value_pairs(told)]
        self.nodes[client] = self._started(f"node-{client}", command, _ONE_THREAD)

    def submit(self, app: Path, **run_config: str | int | float) -> int:
        """Submit an app project to the SuperLink, which runs it at once; return the run's id."""
        changes = ["--run-config", key_value_pairs(run_config)] if run_config else []
        return int(ask(self._home("flwr"), "run", str(app.absolute()), NAME, *changes)["run-id"])

    def state(self, run_id: int) -> tuple[str, str]:
        """Return a run's status at the SuperLink, such as "running" or "finished:failed", and the reason."""
        found = ask(self._home("flwr"), "list", NAME, "--run-id", str(run_id))["runs"][0]
        return found["status"], found["status-details"] or ""

    def servers(self) -> list[psutil.Process]:
        """Return the processes that run an app's server."""
        under = [] if self.superlink is None else self.superlink.descendants()
        return [one for one in under if _runs_program(one, _SERVER_APP)]

    def stop_servers(self) -> None:
        """End the app's server, before the nodes, so that it does not record their end as a loss."""
        found = self.servers()
        for one in found:
            with suppress(psutil.NoSuchProcess):
                one.kill()  # safe, because a run folder survives a kill at any instant
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


def _answers(address: str) -> bool:
    """Return whether a SuperLink listens."""
    host, _, port = address.rpartition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), timeout=5):
        return True
    return False


def _runs_program(process: psutil.Process, name: str) -> bool:
    try:
        return any(os.path.basename(word) == name for word in process.cmdline()[:2])  # noqa: PTH119
    except psutil.Error:
        return False
