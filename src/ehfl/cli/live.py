"""What `ehfl compare` shows while it works: a bar for each arm, or plain lines where there is no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ehfl.experiment import State

Show = Callable[[list["State"]], None]
_LEAST_SILENCE, _LONGEST_SILENCE = 10.0, 60.0  # between plain lines [s]
_STEP = 0.1  # of all rounds, between plain lines


@contextmanager
def live(totals: Mapping[str, int]) -> Iterator[Show]:
    """Give a function that shows the state of all runs; `totals` has the rounds of each arm, all seeds together."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines().show
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        # rich's own colours make an empty bar and a finished one the same grey where a terminal has only 16
        BarColumn(None, style="bright_black", complete_style="cyan", finished_style="green", pulse_style="cyan"),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} rounds", justify="right"),
        TextColumn("{task.fields[metric]}", justify="right", markup=False),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, expand=True, transient=True, refresh_per_second=4) as bars:
        tasks = {arm: bars.add_task(arm, total=total, metric="") for arm, total in totals.items()}
        reported: set[tuple[str, int]] = set()

        def show(states: list[State]) -> None:
            for arm, task in tasks.items():
                mine = [state for state in states if state.arm == arm]
                done, total = _rounds(mine)
                bars.update(task, completed=done, total=total or totals[arm], metric=_mean_metric(mine))
            for state in states:
                if state.error and (state.arm, state.seed) not in reported:
                    reported.add((state.arm, state.seed))
                    console.print(_failure(state), markup=False, highlight=False)

        yield show


def _rounds(states: Sequence[State]) -> tuple[int, int]:
    """Return how many rounds were played and how many there will be: a run that failed plays no more."""
    return sum(state.rounds for state in states), sum(state.rounds if state.over else state.total for state in states)


def _failure(state: State) -> str:
    return f"{state.arm} seed {state.seed} failed: {state.error}"


def _mean_metric(states: Sequence[State]) -> str:
    """Return the metric's name and the mean of its latest values, of the runs that have one."""
    known = [state.metric for state in states if state.metric is not None]
    if not known:
        return "failed" if states and all(state.error for state in states) else "-"
    return f"{states[0].metric_name} {sum(known) / len(known):.4g}"


class _Lines:
    """Failures at once, and progress with the time left: every ten percent or ten seconds, whichever is rarer.

    At least once a minute, so that long work shows that it goes on.
    """

    def __init__(self) -> None:
        self.began = self.spoke = time.monotonic()
        self.failed: set[tuple[str, int]] = set()
        self.start: int | None = None  # rounds that were there before
        self.said = 0.0  # share of the rounds that the last line named

    def show(self, states: list[State]) -> None:
        done, total = _rounds(states)
        if self.start is None:
            self.start, self.said = done, done / max(total, 1)
            self.failed = {(state.arm, state.seed) for state in states if state.error}
        for state in states:
            if state.error and (state.arm, state.seed) not in self.failed:
                self.failed.add((state.arm, state.seed))
                typer.echo(_failure(state), err=True)
        now, share = time.monotonic(), done / max(total, 1)
        silence = now - self.spoke
        if silence > _LONGEST_SILENCE or (silence > _LEAST_SILENCE and share - self.said >= _STEP):
            pace = (done - self.start) / (now - self.began)
            left = f", about {_duration((total - done) / pace)} left" if pace > 0 and done < total else ""
            typer.echo(f"{share:.0%} done, {done:,} of {total:,} rounds{left}", err=True)
            self.spoke, self.said = now, share


def _duration(seconds: float) -> str:
    """Return a time to read.

    >>> _duration(42.4), _duration(600), _duration(7300)
    ('42 s', '10 min', '2.0 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
