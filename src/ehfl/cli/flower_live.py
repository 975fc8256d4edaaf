"""What `ehfl flower up` shows while it works: the round and each node, or plain lines where there is no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Group

    from ehfl.flower.status import NodeStatus, Status

_SILENCE_SECONDS = 60.0  # plain lines say at least this often that the work goes on


@contextmanager
def live_nodes(label: str, metric_name: str, unit: str) -> Iterator[Callable[[Status], None]]:
    """Give a function that shows how a run on nodes stands."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(label, metric_name).show
        return
    from rich.live import Live

    with Live(console=console, transient=True, refresh_per_second=4) as screen:
        yield lambda status: screen.update(_table(label, metric_name, unit, status))


def headline(label: str, metric_name: str, status: Status) -> str:
    """Return how far a run has come, in a line."""
    reached = "" if status.metric is None else f", {metric_name} {status.metric:.4g}"
    stopping = "; stopping" if status.stopping else ""
    return f"{label}: round {status.rounds} of {status.total}{reached}{stopping}"


def _table(label: str, metric_name: str, unit: str, status: Status) -> Group:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("node", "", f"battery [{unit}]", "took part", "lost", "the last loss"):
        table.add_column(Text(name), justify="right" if name in ("took part", "lost") or "battery" in name else "left")
    for client, node in enumerate(status.nodes):
        state = state_of(node, status)
        words = (str(client), state, _energy(node), str(node.took_part), str(node.lost))
        style = {"online": "green", "starting": ""}.get(state, "red")
        table.add_row(
            *(Text(word, style=style if place == 1 else "") for place, word in enumerate(words)), Text(node.reason)
        )
    return Group(Text(headline(label, metric_name, status), style="bold"), table)  # a title is as narrow as its table


def state_of(node: NodeStatus, status: Status) -> str:
    """Return a node's state in a word; until a round has been played since the start nobody has been heard."""
    if not node.running:
        return "ended"
    if status.rounds <= status.earlier:
        return "starting"
    return "online" if node.heard else "offline"


def _energy(node: NodeStatus) -> str:
    return "-" if node.energy is None else f"{node.energy:,}"


class _Lines:
    """A line when who is online changes, when the model was evaluated anew, and once a minute otherwise."""

    def __init__(self, label: str, metric_name: str) -> None:
        self._label, self._metric_name = label, metric_name
        self._spoke = time.monotonic()
        self._last: tuple[object, ...] = ()

    def show(self, status: Status) -> None:
        """Say how the run stands, if there is news."""
        states = tuple(state_of(node, status) for node in status.nodes)
        news = (status.metric, states, status.rounds == status.total, status.stopping)
        if news == self._last and time.monotonic() - self._spoke < _SILENCE_SECONDS:
            return
        self._last, self._spoke = news, time.monotonic()
        nodes = ", ".join(f"node {client} {state}" for client, state in enumerate(states))
        batteries = " ".join(_energy(node) for node in status.nodes)
        typer.echo(f"{headline(self._label, self._metric_name, status)} ({nodes}; batteries {batteries})", err=True)
