"""`ehfl simulate`: energy and participation, schedulers side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from ehfl.cli.output import check_writable
from ehfl.cli.parsing import read_rates, whole
from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from ehfl import Fleet, Participation

_SCHEDULERS = ["myopic", "round-robin", "greedy"]
_FIGURES = (".png", ".svg", ".pdf")


# The \b in it keeps the lines that follow as they are.
HELP = """Play a fleet under one or more schedulers and compare who takes part.

Every scheduler meets the same harvest for the same seed.

\b
Examples:
  ehfl simulate
  ehfl simulate --clients 10 --rate 0.5 --scheduler myopic --target 5
  ehfl simulate -s round-robin -s round-robin:1 --capacity 1 --figure n.png
  ehfl simulate --rate 0.1,0.5,0.9 --rounds 200 --json
  ehfl simulate --clients 1000000 --rounds 50 -s myopic -s always-on
"""


def simulate(
    clients: Annotated[
        int | None, Option("--clients", "-n", metavar="N", parser=whole, help="Clients in the fleet [10].")
    ] = None,
    rate: Annotated[
        str,
        Option(metavar="RATE", help="Chance of a unit per client and round: a number, a list 0.1,0.9 or a file."),
    ] = "0.5",
    capacity: Annotated[str, Option(metavar="UNITS", help="What a battery holds, or inf.")] = "inf",
    initial: Annotated[int, Option(metavar="UNITS", parser=whole, help="What a battery holds at the start.")] = 0,
    scheduler: Annotated[
        list[str] | None,
        Option(
            "--scheduler",
            "-s",
            metavar="NAME",
            help="myopic, greedy, round-robin, uniform-random, always-on, or package.module:Class. Repeat to compare; "
            "a width of its own is written round-robin:1. [myopic, round-robin, greedy]",
        ),
    ] = None,
    target: Annotated[str, Option(metavar="N", help="Clients wanted a round; auto is what is sustainable.")] = "auto",
    rounds: Annotated[int, Option("--rounds", "-t", metavar="T", parser=whole, help="Rounds to play.")] = 1000,
    seed: Annotated[int, Option(metavar="SEED", parser=whole, help="Seed of the weather and the tie-breaks.")] = 0,
    threads: Annotated[
        int | None, Option(metavar="N", parser=whole, help="Threads for large fleets [all cores].")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of a table.")] = False,
    figure: Annotated[Path | None, Option(metavar="FILE", help="Draw n_t here: .png, .svg or .pdf.")] = None,
    save: Annotated[Path | None, Option(metavar="FOLDER", help="Save each participation here, as npz.")] = None,
) -> None:
    """Play a fleet under one or more schedulers and compare who takes part."""
    from ehfl import Bernoulli, Fleet, make_policy
    from ehfl import simulate as play_all

    rates = read_rates(rate)
    n_clients = (rates.size if rates.ndim else 10) if clients is None else clients
    fleet = Fleet(n_clients, Bernoulli(rates), capacity=_read_capacity(capacity), initial=initial)
    width = _read_target(target, n_clients)
    names = scheduler or _SCHEDULERS
    _check_widths(names, n_clients)
    policies = {name: make_policy(name, width) for name in names}
    if figure is not None:
        check_writable("figure", figure, _FIGURES)
    if save is not None:
        check_writable("save", save / "x.npz" if save.is_dir() else save)

    played: dict[str, Participation] = {}
    with _progress(len(policies) * rounds) as advance:
        for name, policy in policies.items():
            played[name] = play_all(fleet, policy, rounds, seed, threads=threads, on_round=advance)
    goal = fleet.sustainable if width == "auto" else width
    if as_json:
        typer.echo(json.dumps(_as_json(fleet, seed, goal, played)))
    else:
        _print_table(fleet, seed, goal, played)
    _write(played, goal, figure, save)


def _read_capacity(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InvalidValue("capacity", "inf or a whole number of units", text) from None
    return int(value) if math.isfinite(value) and value == int(value) else value


def _read_target(text: str, n_clients: int) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdigit() or not 1 <= int(text) <= n_clients:
        raise InvalidValue("target", f"auto or a whole number in [1, {n_clients}] (the clients)", text)
    return int(text)


def _check_widths(names: Iterable[str], n_clients: int) -> None:
    for name in names:
        width = name.partition(":")[2]
        if width.isdigit() and not 1 <= int(width) <= n_clients:
            raise InvalidValue("scheduler", f"given a width in [1, {n_clients}] (the clients)", name)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None] | None]:
    """Show a bar on a terminal's standard error once the work has taken a second; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True, refresh_per_second=5) as bar:
        task = bar.add_task("playing", total=total)
        yield lambda _: bar.advance(task)


def _as_json(fleet: Fleet, seed: int, goal: int, played: dict[str, Participation]) -> dict[str, Any]:
    import dataclasses

    import ehfl

    return {
        "version": ehfl.__version__,
        "fleet": {
            "clients": fleet.clients,
            "harvest": repr(fleet.harvest),
            "capacity": "inf" if math.isinf(fleet.capacity) else fleet.capacity,
            "cost": fleet.cost,
        },
        "seed": seed,
        "schedulers": {
            name: participation.summary(goal).as_dict()
            | {"energy": dataclasses.asdict(participation.totals), "counts": participation.counts.tolist()}
            for name, participation in played.items()
        },
    }


def _print_table(fleet: Fleet, seed: int, goal: int, played: dict[str, Participation]) -> None:
    from rich.console import Console

    from ehfl.report.tables import summary_table

    rounds = next(iter(played.values())).rounds
    title = f"{fleet.clients:,} clients, {fleet.harvest!r}, battery {fleet.capacity:g}, {rounds:,} rounds, seed {seed}"
    Console().print(summary_table({name: p.summary(goal) for name, p in played.items()}, title))


def _write(played: dict[str, Participation], goal: int, figure: Path | None, save: Path | None) -> None:
    if figure is not None:
        from ehfl.report.participation import draw_participation

        draw_participation(played, figure, target=goal)
        typer.echo(f"figure: {figure}", err=True)
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        for name, participation in played.items():
            path = save / f"{name.replace(':', '-')}.npz"
            participation.save(path)
            typer.echo(f"saved: {path}", err=True)
