"""`ehfl simulate`: energy and participation, schedulers side by side."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ehfl.cli.options import AsJson, Capacity, Clients, Cost, Initial, Rate, Rounds, Scheduler, Seed, Target
from ehfl.cli.output import FIGURES, check_folder, check_writable, print_table, progress, say_if_compiling
from ehfl.cli.parsing import read_setting, whole

if TYPE_CHECKING:
    from ehfl import Fleet, Participation

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
    clients: Clients = None,
    rate: Rate = "0.5",
    capacity: Capacity = "inf",
    initial: Initial = 0,
    cost: Cost = 1,
    scheduler: Scheduler = None,
    target: Target = "auto",
    rounds: Rounds = 1000,
    seed: Seed = 0,
    threads: Annotated[
        int | None, Option(metavar="N", parser=whole, help="Threads for large fleets [all cores].")
    ] = None,
    as_json: AsJson = False,
    figure: Annotated[Path | None, Option(metavar="FILE", help="Draw n_t here: .png, .svg or .pdf.")] = None,
    save: Annotated[Path | None, Option(metavar="FOLDER", help="Save each participation here, as npz.")] = None,
) -> None:
    """Play a fleet under one or more schedulers and compare who takes part."""
    from ehfl import simulate as play_all
    from ehfl.scheduling.rounds import thread_limit

    setting = read_setting(clients, rate, capacity, initial, cost, scheduler, target)
    if figure is not None:
        check_writable("figure", figure, FIGURES)
    if save is not None:
        check_folder("save", save)
    thread_limit(setting.fleet.clients, threads)  # refuses what the machine has not, before anything is said
    say_if_compiling(setting.fleet.clients)

    played: dict[str, Participation] = {}
    with progress("playing", len(setting.policies) * rounds) as advance:
        for name, policy in setting.policies.items():
            played[name] = play_all(setting.fleet, policy, rounds, seed, threads=threads, on_round=advance)
    if as_json:
        typer.echo(json.dumps(_as_json(setting.fleet, seed, setting.target, played)))
    else:
        _print_table(setting.fleet, seed, setting.target, played)
    _write(played, setting.target, figure, save)


def _as_json(fleet: Fleet, seed: int, goal: int, played: dict[str, Participation]) -> dict[str, Any]:
    import dataclasses

    import numpy as np

    import ehfl

    return {
        "version": ehfl.__version__,
        "fleet": {
            "clients": fleet.clients,
            "harvest": repr(fleet.harvest),
            "capacity": "inf" if math.isinf(fleet.capacity) else fleet.capacity,
            "initial": np.asarray(fleet.initial).tolist(),
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
    from ehfl.report.tables import summary_table

    rounds = next(iter(played.values())).rounds
    cost = f", cost {fleet.cost}" if fleet.cost > 1 else ""
    fleet_told = f"{fleet.clients:,} clients, {fleet.harvest!r}, battery {fleet.capacity:g}{cost}"
    title = f"{fleet_told}, {rounds:,} rounds, seed {seed}"
    print_table(title, summary_table({name: p.summary(goal) for name, p in played.items()}))


def _write(played: dict[str, Participation], goal: int, figure: Path | None, save: Path | None) -> None:
    if figure is not None:
        from ehfl.report.participation import draw_participation

        draw_participation(played, figure, target=goal)
        typer.echo(f"figure: {figure}", err=True)
    if save is not None:
        save.mkdir(exist_ok=True)
        for name, participation in played.items():
            path = save / f"{name.replace(':', '-')}.npz"
            participation.save(path)
            typer.echo(f"saved: {path}", err=True)
