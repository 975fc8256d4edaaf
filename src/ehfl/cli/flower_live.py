"""What `ehfl flower up` shows while it works: the round and each node, or plain lines where there is no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Group

    from ehfl import Fleet
    from ehfl.analysis.scales import Scale
    from ehfl.flower.status import NodeStatus, Status

_SILENCE_SECONDS = 60.0  # plain lines say at least this often that the work goes on


def battery_scale(fleet: Fleet) -> Scale:
    """Return what levels of this fleet's batteries are shown in: its units or, where their size is known, J or Wh."""
    import numpy as np

    from ehfl.analysis.scales import Scale, energy_scale

    if fleet.quantum is None:
        return Scale(fleet.unit)
    capacities = np.asarray(fleet.capacity, dtype=np.float64)
    largest = np.max(capacities[np.isfinite(capacities)], initial=float(fleet.costs.max()))
    shown = energy_scale(fleet.quantum * float(largest))
    return Scale(shown.unit, shown.size / fleet.quantum)


@contextmanager
def live_nodes(label: str, metric_name: str, scale: Scale) -> Iterator[Callable[[Status], None]]:
    """Give a function that shows how a run on nodes stands."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(label, metric_name, scale).show
        return
    from rich.live import Live

    with Live(console=console, transient=True, refresh_per_second=4) as screen:
        yield lambda status: screen.update(_table(label, metric_name, scale, status))


def headline(label: str, metric_name: str, status: Status) -> str:
    """Return how far a run has come, in a line."""
    reached = "" if status.metric is None else f", {metric_name} {status.metric:.4g}"
    stopping = "; stopping" if status.stopping else ""
    return f"{label}: round {status.rounds} of {status.total}{reached}{stopping}"


def _table(label: str, metric_name: str, scale: Scale, status: Status) -> Group:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("node", "", f"battery [{scale.unit}]", "took part", "lost", "the last loss"):
        table.add_column(Text(name), justify="right" if name in ("took part", "lost") or "battery" in name else "left")
    for client, node in enumerate(status.nodes):
        state = state_of(node, status)
        words = (str(client), state, _energy(node, scale), str(node.took_part), str(node.lost))
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


def _energy(node: NodeStatus, scale: Scale) -> str:
    from ehfl.analysis.numbers import amount

    return "-" if node.energy is None else amount(scale.of(float(node.energy)))


class _Lines:
    """A line when who is online changes, when the model was evaluated anew, and once a minute otherwise."""

    def __init__(self, label: str, metric_name: str, scale: Scale) -> None:
        self._label, self._metric_name, self._scale = label, metric_name, scale
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
        levels = " ".join(_energy(node, self._scale) for node in status.nodes)
        unit = "" if self._scale.size == 1 else f" {self._scale.unit}"  # the paper's units need no name
        batteries = f"batteries {levels}{unit}"
        typer.echo(f"{headline(self._label, self._metric_name, status)} ({nodes}; {batteries})", err=True)
