"""`ehfl simulate`: energy and participation, schedulers side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ehfl.cli.options import (
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
    names_in,
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
    say_where,
)
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import path, whole
from ehfl.validation import InvalidValue, whole_number

if TYPE_CHECKING:
    from ehfl import Fleet
    from ehfl.analysis.simulations import Simulations
    from ehfl.arrays import IntArray
    from ehfl.energy import EnergyTotals
    from ehfl.experiment import Arm, Spec
    from ehfl.scheduling import Summary

    Played = dict[str, list["_Shown"]]  # one a seed, by the arm's label

# The \b in it keeps the lines that follow as they are.
HELP = """Play a fleet under one or more schedulers and compare who takes part.

Every scheduler meets the same harvest for the same seed.

\b
Examples:
  ehfl simulate
  ehfl simulate --clients 10 --rate 0.5 --scheduler myopic --target 5
  ehfl simulate -s round-robin -s round-robin:1 --capacity 1 --figure n.png
  ehfl simulate --seeds 20 --rounds 300 --capacity 5
  ehfl simulate --rate 0.1,0.5,0.9 --cost 1,2,3 --rounds 200 --json
  ehfl simulate --harvest replay:sun.csv --clients 4 --rounds 48
  ehfl simulate --clients 1000000 --rounds 50 -s myopic -s always-on
"""


@dataclass(frozen=True, slots=True)
class _Shown:
    """What is shown of a participation; who took part is not, since a large fleet's would fill the memory."""

    summary: Summary
    totals: EnergyTotals
    counts: IntArray
    spent: IntArray

    def as_facts(self) -> dict[str, Any]:
        lists = {"counts": self.counts.tolist(), "spent": self.spent.tolist()}
        return self.summary.as_dict() | {"energy": asdict(self.totals)} | lists


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
    seeds: Annotated[
        int | None,
        Option(
            metavar="N",
            parser=whole,
            help="Play so many seeds, from --seed on: means with 95 % intervals, and how many seeds are on target: "
            "with as many participants as wanted in at least 95 % of the rounds.",
        ),
    ] = None,
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
    with named_by_option(names_in(context) | {"threads": "--threads"}):
        spec = spec_of(context, seeds=_seeds(context, seed, seeds))
        fleet, played = _play(spec, threads, save)
    if figure is not None:  # before anything is printed, since nobody may read it to its end
        _draw(spec, played, figure)
    if save is not None:
        first, *others = (save / _file_name(spec, run.arm, run.seed) for run in spec.runs())
        say_where("saved", first, more=len(others))
    if as_json:
        typer.echo(json.dumps(_as_json(fleet, spec.seeds, played)))
    else:
        _print_table(fleet, spec, played)


def _seeds(context: typer.Context, first: int, number: int | None) -> list[int] | None:
    """Return so many seeds from the first on, None where one is enough."""
    from ehfl.experiment.values import MOST_SEEDS
    from ehfl.randomness import check_seed

    if number is None:
        return None
    whole_number("--seeds", number, low=1, high=MOST_SEEDS)
    if any(text.partition("=")[0].strip() == "seeds" for text in context.params["override"] or ()):
        raise InvalidValue("--seeds", "left out where -o seeds is given", number)
    return [check_seed(check_seed(first) + i) for i in range(number)]


@own_prints_aside()
def _play(spec: Spec, threads: int | None, save: Path | None) -> tuple[Fleet, Played]:
    """Return the fleet and what is shown of each participation, by label; save each as soon as it has been played."""
    from ehfl import simulate as play_all
    from ehfl.experiment.building import fleet_of, scheduler_of, target_of
    from ehfl.scheduling.rounds import thread_limit

    fleet = fleet_of(spec.base)
    thread_limit(fleet.clients, threads)  # refuses what the machine has not, before anything is said
    say_if_compiling(fleet.clients)
    played: Played = {arm.label: [] for arm in spec.arms}
    with progress("playing", len(spec.seeds) * sum(arm.setting.rounds for arm in spec.arms)) as advance:
        for arm in spec.arms:
            setting, scheduler = arm.setting, scheduler_of(arm.setting)
            say_if_blind(arm.label, scheduler)
            for seed in spec.seeds:
                found = play_all(
                    fleet_of(setting), scheduler, setting.rounds, seed, target=target_of(setting), threads=threads,
                    on_round=advance,
                )  # fmt: skip
                if save is not None:
                    save.mkdir(parents=True, exist_ok=True)
                    found.save(save / _file_name(spec, arm, seed))
                played[arm.label].append(_Shown(found.summary(), found.totals, found.counts, found.spent))
    return fleet, played


def _file_name(spec: Spec, arm: Arm, seed: int) -> str:
    from ehfl.run_folder import folder_name

    return f"{arm.slug if len(spec.seeds) == 1 else folder_name(arm.label, seed)}.npz"


def _as_json(fleet: Fleet, seeds: Sequence[int], played: Played) -> dict[str, Any]:
    import numpy as np

    import ehfl
    from ehfl.files import finite

    levels = {name: np.asarray(getattr(fleet, name)).tolist() for name in ("capacity", "initial", "cost")}
    single = len(seeds) == 1
    return {
        "version": ehfl.__version__,
        "fleet": {"clients": fleet.clients, "harvest": repr(fleet.harvest), "unit": fleet.unit}
        | {name: finite(value, instead="inf") for name, value in levels.items()},
        **({"seed": seeds[0]} if single else {"seeds": list(seeds)}),
        "schedulers": {
            label: many[0].as_facts()
            if single
            else _over_seeds(many).as_facts() | {"by_seed": [one.as_facts() for one in many]}
            for label, many in played.items()
        },
    }


def _over_seeds(many: Sequence[_Shown]) -> Simulations:
    from ehfl.analysis.simulations import Simulations

    return Simulations(tuple(one.summary for one in many))


def _print_table(fleet: Fleet, spec: Spec, played: Played) -> None:
    from ehfl.report import summary_table

    rounds = next(iter(played.values()))[0].summary.rounds
    amounts = [f"battery {_amount(fleet.capacity, fleet.unit)}"]
    if (fleet.costs != 1).any() or fleet.unit != "units":
        amounts.append(f"cost {_amount(fleet.cost, fleet.unit)}")
    seeds = f"seed {spec.seeds[0]}" if len(spec.seeds) == 1 else f"{len(spec.seeds):,} seeds"
    title = f"{fleet.clients:,} clients, {fleet.harvest!r}, {', '.join(amounts)}, {rounds:,} rounds, {seeds}"
    print_table(title, summary_table({label: _over_seeds(many) for label, many in played.items()}))


def _amount(value: Any, unit: str) -> str:
    """Return an amount of energy, or the range of one per client, with its unit."""
    import numpy as np

    low, high = float(np.min(value)), float(np.max(value))
    numbers = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return numbers if high == np.inf and low == high else f"{numbers} {unit}"


def _draw(spec: Spec, played: Played, figure: Path) -> None:
    import numpy as np

    from ehfl.report import draw_participation

    counts = {label: np.stack([one.counts for one in many]) for label, many in played.items()}
    target = next(iter(played.values()))[0].summary.target
    draw_participation(counts, figure, schedulers=scheduler_names(spec), target=target)
    say_where("figure", figure)
