"""`ehfl simulate`: energy and participation, schedulers side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    RoundLength,
    Rounds,
    Scheduler,
    Seed,
    Target,
    named_by_option,
    names_in,
    spec_of,
)
from ehfl.cli.output import (
    FIGURES,
    check_folder,
    check_writable,
    progress,
    say_if_blind,
    say_if_compiling,
    say_if_planning_compiles,
    say_where,
)
from ehfl.cli.simulate_output import Played, Shown, as_facts, draw, print_played
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import path, whole
from ehfl.validation import InvalidValue, whole_number

if TYPE_CHECKING:
    from ehfl import Fleet
    from ehfl.experiment import Arm, Spec
    from ehfl.planning import Optimum

# The \b in it keeps the lines that follow as they are.
HELP = """Play a fleet under one or more schedulers and compare who takes part.

Every scheduler meets the same harvest for the same seed.

\b
Examples:
  ehfl simulate
  ehfl simulate --clients 10 --rate 0.5 --scheduler myopic --target 5
  ehfl simulate -s round-robin -s round-robin:1 --capacity 1 --figure n.png
  ehfl simulate --seeds 20 --rounds 300 --capacity 5 --clairvoyant
  ehfl simulate --rate 0.1,0.5,0.9 --cost 1,2,3 --rounds 200 --json
  ehfl simulate --harvest replay:sun.csv --clients 4 --rounds 48
  ehfl simulate --harvest sun:0.5 --round-length 1h --capacity 1Wh --cost 300J
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
    round_length: RoundLength = None,
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
    clairvoyant: Annotated[
        bool,
        Option("--clairvoyant", help="Show each scheduler's share of what any could have reached on these harvests."),
    ] = False,
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
        fleet, played = _play(spec, threads, save, clairvoyant=clairvoyant)
    if figure is not None:  # before anything is printed, since nobody may read it to its end
        draw(spec, played, figure)
    if save is not None:
        first, *others = (save / _file_name(spec, run.arm, run.seed) for run in spec.runs())
        say_where("saved", first, more=len(others))
    if as_json:
        typer.echo(json.dumps(as_facts(fleet, spec.seeds, played)))
    else:
        print_played(fleet, spec, played)


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
def _play(spec: Spec, threads: int | None, save: Path | None, *, clairvoyant: bool) -> tuple[Fleet, Played]:
    """Return the fleet and what is shown of each participation, by label; save each as soon as it has been played.

    With `clairvoyant`, also what any scheduler could have reached; it is found once for arms with one fleet.
    """
    from ehfl import simulate as play_all
    from ehfl.experiment import check_harvests
    from ehfl.experiment.building import fleet_of, scheduler_of, target_of
    from ehfl.experiment.possible import check_possible, optimum_of
    from ehfl.scheduling.rounds import thread_limit

    fleet = fleet_of(spec.base)
    check_harvests(spec)
    thread_limit(fleet.clients, threads)  # refuses what the machine has not, before anything is said
    if clairvoyant:
        check_possible(spec)  # before rounds are played that take long
        say_if_planning_compiles()
    say_if_compiling(fleet.clients)
    best: dict[str, Optimum] = {}
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
                possible = optimum_of(setting, seed, best) if clairvoyant else None
                played[arm.label].append(Shown.of(found, possible))
    return fleet, played


def _file_name(spec: Spec, arm: Arm, seed: int) -> str:
    from ehfl.run_folder import folder_name

    return f"{arm.slug if len(spec.seeds) == 1 else folder_name(arm.label, seed)}.npz"
