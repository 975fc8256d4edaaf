"""`ehfl simulate`: energy and participation, schedulers side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ehfl.cli.options import (
    NAMES,
    AsJson,
    Capacity,
    Clients,
    Cost,
    HarvestOption,
    Initial,
    Override,
    Rate,
    Rounds,
    Scheduler,
    Seed,
    Target,
    named_by_option,
    scheduler_names,
    spec_of,
)
from ehfl.cli.output import (
    FIGURES,
    check_folder,
    check_writable,
    print_table,
    progress,
    say_if_blind,
    say_if_compiling,
)
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import path, whole
from ehfl.validation import UserError

if TYPE_CHECKING:
    from ehfl import Fleet, Participation
    from ehfl.experiment import Spec

    Played = dict[str, Participation]  # by the arm's label

# The \b in it keeps the lines that follow as they are.
HELP = """Play a fleet under one or more schedulers and compare who takes part.

Every scheduler meets the same harvest for the same seed.

\b
Examples:
  ehfl simulate
  ehfl simulate --clients 10 --rate 0.5 --scheduler myopic --target 5
  ehfl simulate -s round-robin -s round-robin:1 --capacity 1 --figure n.png
  ehfl simulate --rate 0.1,0.5,0.9 --cost 1,2,3 --rounds 200 --json
  ehfl simulate --harvest replay:sun.csv --clients 4 --rounds 48
  ehfl simulate --clients 1000000 --rounds 50 -s myopic -s always-on
"""


def simulate(
    context: typer.Context,
    clients: Clients = None,
    rate: Rate = None,
    harvest: HarvestOption = None,
    capacity: Capacity = None,
    initial: Initial = None,
    cost: Cost = None,
    scheduler: Scheduler = None,
    target: Target = None,
    rounds: Rounds = 1000,
    seed: Seed = 0,
    override: Override = None,
    threads: Annotated[
        int | None, Option(metavar="N", parser=whole, help="Threads for large fleets [all cores].")
    ] = None,
    as_json: AsJson = False,
    figure: Annotated[
        Path | None, Option(metavar="FILE", parser=path, help="Draw n_t here: .png, .svg or .pdf.")
    ] = None,
    save: Annotated[
        Path | None, Option(metavar="FOLDER", parser=path, help="Save each participation here, as npz.")
    ] = None,
) -> None:
    """Play a fleet under one or more schedulers and compare who takes part."""
    if figure is not None:
        check_writable("--figure", figure, FIGURES)
    if save is not None:
        check_folder("--save", save)
    with named_by_option(NAMES | {"threads": "--threads"}):
        spec = spec_of(context)
        if len(spec.seeds) > 1:
            raise UserError(f"ehfl simulate plays one seed, and these are {len(spec.seeds)}: use --seed")
        fleet, played = _play(spec, threads)
    _write(spec, played, figure, save)  # before anything is printed, since nobody may read it to its end
    if as_json:
        typer.echo(json.dumps(_as_json(fleet, spec.seeds[0], played)))
    else:
        _print_table(fleet, spec, played)


@own_prints_aside()
def _play(spec: Spec, threads: int | None) -> tuple[Fleet, Played]:
    """Return the fleet and who took part, by label."""
    from ehfl import simulate as play_all
    from ehfl.experiment.building import fleet_of, scheduler_of, target_of
    from ehfl.scheduling.rounds import thread_limit

    fleet = fleet_of(spec.base)
    thread_limit(fleet.clients, threads)  # refuses what the machine has not, before anything is said
    say_if_compiling(fleet.clients)
    played: Played = {}
    with progress("playing", sum(arm.setting.rounds for arm in spec.arms)) as advance:
        for arm in spec.arms:
            setting, scheduler = arm.setting, scheduler_of(arm.setting)
            say_if_blind(arm.label, scheduler)
            played[arm.label] = play_all(
                fleet_of(setting), scheduler, setting.rounds, spec.seeds[0], target=target_of(setting), threads=threads,
                on_round=advance,
            )  # fmt: skip
    return fleet, played


def _as_json(fleet: Fleet, seed: int, played: Played) -> dict[str, Any]:
    import dataclasses

    import numpy as np

    import ehfl
    from ehfl.files import finite

    levels = {name: np.asarray(getattr(fleet, name)).tolist() for name in ("capacity", "initial", "cost")}
    return {
        "version": ehfl.__version__,
        "fleet": {"clients": fleet.clients, "harvest": repr(fleet.harvest), "unit": fleet.unit}
        | {name: finite(value, instead="inf") for name, value in levels.items()},
        "seed": seed,
        "schedulers": {
            label: one.summary().as_dict()
            | {"energy": dataclasses.asdict(one.totals), "counts": one.counts.tolist(), "spent": one.spent.tolist()}
            for label, one in played.items()
        },
    }


def _print_table(fleet: Fleet, spec: Spec, played: Played) -> None:
    from ehfl.report import summary_table

    rounds = next(iter(played.values())).rounds
    amounts = [f"battery {_amount(fleet.capacity, fleet.unit)}"]
    if (fleet.costs != 1).any() or fleet.unit != "units":
        amounts.append(f"cost {_amount(fleet.cost, fleet.unit)}")
    title = (
        f"{fleet.clients:,} clients, {fleet.harvest!r}, {', '.join(amounts)}, {rounds:,} rounds, seed {spec.seeds[0]}"
    )
    print_table(title, summary_table({label: one.summary() for label, one in played.items()}))


def _amount(value: Any, unit: str) -> str:
    """Return an amount of energy, or the range of one per client, with its unit."""
    import numpy as np

    low, high = float(np.min(value)), float(np.max(value))
    numbers = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return numbers if high == np.inf and low == high else f"{numbers} {unit}"


def _write(spec: Spec, played: Played, figure: Path | None, save: Path | None) -> None:
    if figure is not None:
        from ehfl.report import draw_participation

        target = next(iter(played.values())).target
        draw_participation(played, figure, schedulers=scheduler_names(spec), target=target)
        typer.echo(f"figure: {figure}", err=True)
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        slugs = {arm.label: arm.slug for arm in spec.arms}
        for label, participation in played.items():
            path = save / f"{slugs[label]}.npz"
            participation.save(path)
            typer.echo(f"saved: {path}", err=True)
