"""What commands show while they work: bars with the time left in a terminal, else a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.progress import Progress

    from ehfl import Fleet
    from ehfl.analysis.units import Scale
    from ehfl.experiment import State
    from ehfl.flower.local.up import NodeStatus, Status

Show = Callable[[list["State"]], None]
_LEAST_SILENCE, _LONGEST_SILENCE = 10.0, 60.0  # between lines [s]
_MOST_BARS = 15
_STEP = 0.1  # of all work, between lines


@contextmanager
def progress(
    label: str, total: int | None = None, detail: Callable[[Any], str] = lambda _: "", unit: str = "steps"
) -> Iterator[Callable[[object], None]]:
    """Give a function to call after each of `total` steps; where their number is not known, no time left is shown.

    `detail` says what a step brought, such as "accuracy 0.93"; the last one stays where it is empty.
    """
    console = _console()
    done, latest = 0, ""
    if not console.is_terminal:
        lines = _Lines(label, unit, start=0)

        def say(step: object) -> None:
            nonlocal done, latest
            done, latest = done + 1, detail(step) or latest
            lines.show(done, total, latest)

        yield say
        return
    with _bars(console, unit if total is not None else "") as bars:
        task = bars.add_task(label, total=total, detail="")

        def advance(step: object) -> None:
            if news := detail(step):
                bars.update(task, detail=news)
            bars.advance(task)

        yield advance


@contextmanager
def live(totals: Mapping[str, int]) -> Iterator[Show]:
    """Give a function that shows the state of all runs; `totals` has the rounds of each arm, all seeds together."""
    console = _console()
    failures: set[tuple[str, int]] = set()

    def failed(states: Sequence[State]) -> Iterator[str]:
        for state in states:
            if state.error and (state.arm, state.seed) not in failures:
                failures.add((state.arm, state.seed))
                yield f"{state.arm} seed {state.seed} failed: {state.error}"

    if not console.is_terminal:
        lines = _Lines("", "rounds", start=None)

        def say(states: list[State]) -> None:
            for line in failed(states):
                typer.echo(line, err=True)
            lines.show(*_rounds(states))

        yield say
        return
    with _bars(console, "rounds") as bars:
        every = f"{len(totals)} arms"  # in one bar, where a screen has no room for a bar each
        arms = totals if len(totals) <= _MOST_BARS else {every: sum(totals.values())}
        tasks = {arm: bars.add_task(arm, total=total, detail="") for arm, total in arms.items()}

        def show(states: list[State]) -> None:
            for arm, task in tasks.items():
                mine = [state for state in states if arm in (state.arm, every)]
                done, total = _rounds(mine)
                bars.update(task, completed=done, total=total or arms[arm], detail=_mean_metric(mine))
            for line in failed(states):
                console.print(line, markup=False, highlight=False)

        yield show


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True)


def _bars(console: Console, unit: str) -> Progress:
    """Return an empty screen of bars, each with its label, latest detail, time left and, counted in `unit`, steps."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        # rich's own colours make an empty bar and a finished one the same grey where a terminal has only 16
        BarColumn(None, style="bright_black", complete_style="cyan", finished_style="green", pulse_style="cyan"),
        TextColumn(f"{{task.completed:,.0f}}/{{task.total:,.0f}} {unit}" if unit else "", justify="right"),
        TextColumn("{task.fields[detail]}", justify="right", markup=False),
        TimeRemainingColumn(compact=True),
        console=console,
        expand=True,
        transient=True,
        refresh_per_second=4,
    )


def _rounds(states: Sequence[State]) -> tuple[int, int]:
    """Return how many rounds were played and how many there will be: a run that failed plays no more."""
    return sum(state.rounds for state in states), sum(state.rounds if state.over else state.total for state in states)


def _mean_metric(states: Sequence[State]) -> str:
    """Return the metric's name and the mean of its latest values, of the runs that have one."""
    known = [state.metric for state in states if state.metric is not None]
    if not known:
        return "failed" if states and all(state.error for state in states) else "-"
    return f"{states[0].metric_name} {sum(known) / len(known):.4g}"


class _Lines:
    """Progress with the time left: every ten percent or ten seconds, whichever is rarer.

    At least once a minute, so that long work shows that it goes on. Short work says nothing.
    """

    def __init__(self, label: str, unit: str, start: int | None) -> None:
        self._label, self._unit = f"{label}: " if label else "", unit
        self._began = self._spoke = time.monotonic()
        self._start = start  # steps that were done before, as of runs that are resumed; None: those of the first call
        self._said = 0.0  # share of the work that the last line named

    def show(self, done: int, total: int | None, detail: str = "") -> None:
        """Print a line if it is time for one."""
        now, share = time.monotonic(), 0.0 if total is None else done / max(total, 1)
        if self._start is None:
            self._start, self._said = done, share
        silence = now - self._spoke
        news = total is None or share - self._said >= _STEP
        if silence <= _LEAST_SILENCE or not (news or silence > _LONGEST_SILENCE):
            return
        detail = f"; {detail}" if detail else ""
        if total is None:
            typer.echo(f"{self._label}{done:,} {self._unit} done{detail}", err=True)
        else:
            pace = (done - self._start) / (now - self._began)
            left = f", about {_duration((total - done) / pace)} left" if pace > 0 and done < total else ""
            typer.echo(f"{self._label}{share:.0%} done, {done:,} of {total:,} {self._unit}{left}{detail}", err=True)
        self._spoke, self._said = now, share


def _duration(seconds: float) -> str:
    """Return a time to read.

    >>> _duration(42.4), _duration(600), _duration(7300)
    ('42 s', '10 min', '2.0 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def battery_scale(fleet: Fleet) -> Scale:
    """Return what levels of this fleet's batteries are shown in: its units or, where their size is known, J or Wh."""
    import numpy as np

    from ehfl.analysis.units import Scale, energy_scale

    if fleet.quantum is None:
        return Scale(fleet.unit)
    capacities = np.asarray(fleet.capacity, dtype=np.float64)
    largest = np.max(capacities[np.isfinite(capacities)], initial=float(fleet.costs.max()))
    shown = energy_scale(fleet.quantum * float(largest))
    return Scale(shown.unit, shown.size / fleet.quantum)


@contextmanager
def live_nodes(label: str, metric_name: str, scale: Scale) -> Iterator[Callable[[Status], None]]:
    """Give a function that shows the round of a run on nodes, and each node's state and battery."""
    console = _console()
    if not console.is_terminal:
        yield _NodeLines(label, metric_name, scale).show
        return
    from rich.live import Live

    with Live(console=console, transient=True, refresh_per_second=4) as screen:
        yield lambda status: screen.update(_node_table(label, metric_name, scale, status))


def _headline(label: str, metric_name: str, status: Status) -> str:
    """Return how far a run has come, in a line."""
    reached = "" if status.metric is None else f", {metric_name} {status.metric:.4g}"
    stopping = "; stopping" if status.stopping else ""
    return f"{label}: round {status.rounds} of {status.total}{reached}{stopping}"


def _node_table(label: str, metric_name: str, scale: Scale, status: Status) -> Group:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("node", "", f"battery [{scale.unit}]", "took part", "lost", "the last loss"):
        table.add_column(Text(name), justify="right" if name in ("took part", "lost") or "battery" in name else "left")
    for client, node in enumerate(status.nodes):
        state = _state_of(node, status)
        words = (str(client), state, _energy(node, scale), str(node.took_part), str(node.lost))
        style = {"online": "green", "starting": ""}.get(state, "red")
        table.add_row(
            *(Text(word, style=style if place == 1 else "") for place, word in enumerate(words)), Text(node.reason)
        )
    return Group(Text(_headline(label, metric_name, status), style="bold"), table)  # a title is as narrow as its table


def _state_of(node: NodeStatus, status: Status) -> str:
    """Return a node's state in a word; no node has been heard before a round has been played since the start."""
    if not node.running:
        return "ended"
    if status.rounds <= status.earlier:
        return "starting"
    return "online" if node.heard else "offline"


def _energy(node: NodeStatus, scale: Scale) -> str:
    from ehfl.report.write import amount

    return "-" if node.energy is None else amount(scale.of(float(node.energy)))


class _NodeLines:
    """A line when who is online changes, when the model was evaluated anew, and once a minute otherwise."""

    def __init__(self, label: str, metric_name: str, scale: Scale) -> None:
        self._label, self._metric_name, self._scale = label, metric_name, scale
        self._spoke = time.monotonic()
        self._last: tuple[object, ...] = ()

    def show(self, status: Status) -> None:
        """Say how the run stands, if there is news."""
        states = tuple(_state_of(node, status) for node in status.nodes)
        news = (status.metric, states, status.rounds == status.total, status.stopping)
        if news == self._last and time.monotonic() - self._spoke < _LONGEST_SILENCE:
            return
        self._last, self._spoke = news, time.monotonic()
        nodes = ", ".join(f"node {client} {state}" for client, state in enumerate(states))
        levels = " ".join(_energy(node, self._scale) for node in status.nodes)
        unit = "" if self._scale.size == 1 else f" {self._scale.unit}"  # the paper's units need no name
        batteries = f"batteries {levels}{unit}"
        typer.echo(f"{_headline(self._label, self._metric_name, status)} ({nodes}; {batteries})", err=True)
