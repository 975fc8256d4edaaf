"""What commands show while they work, and where they write."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ehfl.validation import InvalidValue, visible

if TYPE_CHECKING:
    from ehfl.analysis import Comparison
    from ehfl.report.tables import SideBySide
    from ehfl.scheduling import Scheduler

FIGURES = (".png", ".svg", ".pdf")


def check_writable(option: str, path: Path, suffixes: tuple[str, ...] = ()) -> None:
    """Refuse, before the work starts, a file that could not be written or whose ending is not one of `suffixes`."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise InvalidValue(option, f"a file name that ends in {', '.join(suffixes)}", path)
    if path.is_dir():
        raise InvalidValue(option, "a file name", f"{path}, a folder")
    if not path.parent.is_dir():
        raise InvalidValue(option, "in a folder that exists", path)
    if not os.access(path.parent, os.W_OK):
        raise InvalidValue(option, "in a folder that can be written to", path)


def check_folder(option: str, path: Path) -> None:
    """Refuse, before the work starts, a folder that is a file, or could neither be made nor written to."""
    there = next(place for place in (path, *path.parents) if place.exists())
    if not there.is_dir():
        raise InvalidValue(option, "a folder", f"{path}, a file" if there == path else f"{path}, and {there} is a file")
    if not os.access(there, os.W_OK):
        raise InvalidValue(option, "a folder that can be written to", path)


def say(note: str) -> None:
    """Tell the user something beside the results, if there is anything to tell."""
    if note:
        typer.echo(note, err=True)


def say_if_compiling(n_clients: int) -> None:
    """Tell the user why the first large fleet takes its time, if its kernels have not been compiled yet."""
    from ehfl.randomness import TILE

    if n_clients > TILE:
        _say_if_not_cached("scheduling.kernels.longest", "for large fleets (about 20 s")


def say_if_planning_compiles() -> None:
    """Tell the user why the first look at what was possible takes its time."""
    _say_if_not_cached("planning.kernels.even_out", "that even out turns (about 10 s")


def _say_if_not_cached(name: str, what: str) -> None:
    from ehfl.compiled import kernels_are_cached
    from ehfl.kernel_cache import kernel_folder

    if not kernels_are_cached(name):
        often = "once" if kernel_folder() else "every time, unless NUMBA_CACHE_DIR names a folder to keep them in"
        typer.echo(f"compiling kernels {what}, {often})", err=True)


def say_if_blind(label: str, scheduler: Scheduler) -> None:
    """Tell the user that a scheduler which chooses by losses is played without any."""
    from ehfl.scheduling import wants_losses

    if wants_losses(scheduler):
        typer.echo(f"{label} chooses by losses, which only training gives: none are known here", err=True)


def say_where(what: str, path: Path, *, more: int = 0, err: bool = True) -> None:
    """Tell the user where something was written, and how many files besides."""
    typer.echo(f"{what}: {visible(str(path))}{f' and {more} more' if more else ''}", err=err)


def print_table(title: str, table: SideBySide) -> None:
    """Print a title and a table; where no terminal bounds it, as wide as it needs to be."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        needed = console.measure(table, options=console.options.update_width(10_000)).maximum
        console.width = max(console.width, needed, len(title))
    console.print(title, style="bold", highlight=False)
    console.print(table)


def print_results(
    compared: Comparison, page: Path, as_json: bool, *, by_class: bool = False, full: bool = False
) -> None:
    """Print a comparison: the compact table, or JSON, then the verdict and where the page lies.

    `full` prints every figure in place of the compact table, `by_class` a line for each class too.
    """
    if as_json:
        from ehfl.files import json_text
        from ehfl.report import as_facts

        typer.echo(json_text(as_facts(compared)))
    else:
        from rich.console import Console

        from ehfl.analysis.compact import compact
        from ehfl.report import comparison_table, verdict_of
        from ehfl.report.place import TEXTS

        table, console = compact(compared), Console()
        if full or by_class:
            print_table(table.title, comparison_table(compared, by_class=by_class))
        else:
            console.print(table.title, style="bold", markup=False, highlight=False, soft_wrap=True)
            typer.echo(f"\n{table.text(console.width if console.is_terminal else 100)}")
        print_sentences(verdict_of(compared))
        typer.echo(f"\nevery figure: {visible(str(page.parent / TEXTS[-1]))}")
    say_where("report", page, err=as_json)


def print_sentences(sentences: Sequence[str], style: str = "") -> None:
    """Print an empty line and then a line each, if any, broken between words where a terminal is narrower."""
    from rich.console import Console

    console = Console(highlight=False)
    if sentences:
        console.print()
    for sentence in sentences:
        console.print(sentence, markup=False, style=style, soft_wrap=not console.is_terminal)


@contextmanager
def progress(
    label: str, total: int, detail: Callable[[Any], str] = lambda _: ""
) -> Iterator[Callable[[object], None] | None]:
    """Give a function to call after each of `total` steps, which moves a bar; None where no terminal would show it.

    `detail` says what a step brought, such as "accuracy 0.93"; what was said last stays where it says nothing.
    """
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    last = TextColumn("{task.fields[detail]}", markup=False)
    with Progress(*Progress.get_default_columns(), last, console=console, transient=True, refresh_per_second=5) as bar:
        task = bar.add_task(label, total=total, detail="")

        def advance(step: object) -> None:
            if news := detail(step):
                bar.update(task, detail=news)
            bar.advance(task)

        yield advance
