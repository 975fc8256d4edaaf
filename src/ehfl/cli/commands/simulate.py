"""`ehfl simulate`: energy and participation, schedulers side by side."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ehfl.cli.live import progress
from ehfl.cli.options import (
    FLEET,
    JOULES,
    SCHEDULERS,
    AsJson,
    Clairvoyant,
    Figure,
    Full,
    Given,
    Sweep,
    command,
    named_by_option,
    scheduler_names,
)
from ehfl.cli.output import (
    check_figure,
    check_folder,
    print_output,
    say_if_blind,
    say_if_compiling,
    say_if_planning_compiles,
    say_where,
    write_figure,
)
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import path, whole

if TYPE_CHECKING:
    from ehfl import Fleet
    from ehfl.experiment import Arm, Spec
    from ehfl.report.tables.simulate import Played


@command("Energy and participation only.", *FLEET, *JOULES, "target", scheduler=SCHEDULERS, rounds=1000, seed=0)
def simulate(
    given: Given,
    sweep: Sweep = None,
    seeds: Annotated[
        int | None,
        Option(
            metavar="N",
            parser=whole,
            help="Play n seeds, from --seed on: means with 95 % intervals, and how many seeds are on target: "
            "with as many participants as wanted in at least 95 % of the rounds.",
        ),
    ] = None,
    threads: Annotated[
        int | None, Option(metavar="N", parser=whole, help="Cores for large fleets [all cores].")
    ] = None,
    clairvoyant: Clairvoyant = False,
    full: Full = False,
    as_json: AsJson = False,
    figure: Figure = None,
    save: Annotated[
        Path | None, Option(metavar="FOLDER", parser=path, help="Save each participation here, as npz.")
    ] = None,
) -> None:
    r"""Play a fleet under one or more schedulers and compare who takes part.

    Every scheduler meets the same harvest for the same seed.

    \b
    Examples:
      ehfl simulate
      ehfl simulate --clients 10 --rate 0.5 --scheduler myopic --target 5
      ehfl simulate -s round-robin -s round-robin:1 --capacity 1 --figure n.png
      ehfl simulate --sweep fleet.capacity=1,2,5,10 -s myopic -s greedy
      ehfl simulate --seeds 20 --rounds 300 --capacity 5 --clairvoyant
      ehfl simulate --rate 0.1,0.5,0.9 --cost 1,2,3 --rounds 200 --json
      ehfl simulate --harvest replay:sun.csv --clients 4 --rounds 48
      ehfl simulate --harvest sun:0.5 --round-length 1h --capacity 1Wh --cost 300J
      ehfl simulate --clients 1000000 --rounds 50 -s myopic -s always-on
    """
    from ehfl.experiment.spec.values import MOST_SEEDS
    from ehfl.report.tables.simulate import simulate_facts, simulate_output

    check_figure(figure)
    check_folder("--save", save)
    with named_by_option(given.names | {"threads": "--threads"}):
        spec = given.spec({}, seeds=given.seeds(MOST_SEEDS))
        fleet, played = _play(spec, threads, save, clairvoyant=clairvoyant)
    if figure is not None:  # before anything is printed: a closed pipe must not lose it
        _draw(spec, played, figure)
    if save is not None:
        first, *others = (save / _file_name(spec, run.arm, run.seed) for run in spec.runs())
        say_where("saved", first, more=len(others))
    if as_json:
        typer.echo(json.dumps(simulate_facts(fleet, spec.seeds, played)))
    else:
        swept = list(spec.arms[0].point)
        print_output(simulate_output(fleet, spec.seeds, played, swept), full=full)


@own_prints_aside()
def _play(spec: Spec, threads: int | None, save: Path | None, *, clairvoyant: bool) -> tuple[Fleet, Played]:
    """Return the fleet and what is shown of each participation, by label; save each as soon as it has been played.

    With `clairvoyant`, also what any scheduler could have reached; it is found once for arms with one fleet.
    """
    from ehfl.experiment import check_harvests
    from ehfl.experiment.play import Game, Player, World, check_best
    from ehfl.experiment.spec.build import fleet_of
    from ehfl.report.tables.simulate import Shown
    from ehfl.scheduling.rounds import thread_limit

    fleet = fleet_of(spec.base)
    check_harvests(spec)
    thread_limit(fleet.clients, threads)  # refuses what the machine has not, before anything is said
    if clairvoyant:
        check_best(spec)  # before rounds are played that take long
        say_if_planning_compiles()
    say_if_compiling(fleet.clients)
    games = []
    for arm in spec.arms:
        world = World.of(arm.setting)
        say_if_blind(arm.label, world.scheduler)
        for seed in spec.seeds:
            file = None if save is None else save / _file_name(spec, arm, seed)
            games.append(Game(world, seed, partial(Shown.of, file=file), arm.label))
    player = Player(code=spec.code, threads=threads)
    played: dict[str, list[Shown]] = {arm.label: [] for arm in spec.arms}
    with progress("playing", sum(game.world.rounds for game in games), unit="rounds") as advance:
        for game, shown in zip(games, player.play(games, advance), strict=True):
            best = game.world.best(game.seed) if clairvoyant else None
            played[game.label].append(shown.beside(best))
    return fleet, played


def _draw(spec: Spec, played: Played, figure: Path) -> None:
    """Write the figure of who took part."""
    import numpy as np

    from ehfl.analysis.units import clock_of
    from ehfl.report import looks, participation_figure

    counts = {label: np.stack([one.counts for one in many]) for label, many in played.items()}
    targets = {label: many[0].summary.target for label, many in played.items()}
    lengths = {label: many[0].round_length for label, many in played.items()}
    clock = clock_of(lengths, {label: mine.shape[1] for label, mine in counts.items()})
    write_figure(participation_figure(counts, looks(scheduler_names(spec)), targets, clock), figure)


def _file_name(spec: Spec, arm: Arm, seed: int) -> str:
    from ehfl.runs import folder_name

    return f"{arm.slug if len(spec.seeds) == 1 else folder_name(arm.label, seed)}.npz"
