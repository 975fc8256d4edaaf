"""`ehfl plan`: what a fleet can sustain through a year, and what to change about it."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ehfl.cli.options import (
    KEYS,
    AsJson,
    Capacity,
    Clients,
    Cost,
    HarvestOption,
    Initial,
    Override,
    Rate,
    RoundLength,
    Seed,
    Target,
    is_given,
    named_by_option,
    names_in,
    spec_of,
    value_of,
)
from ehfl.cli.output import (
    check_folder,
    print_sentences,
    print_table,
    say_if_blind,
    say_if_planning_compiles,
    say_where,
)
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import number, path, whole
from ehfl.files import json_text
from ehfl.validation import InvalidValue, SpecError, number_in, whole_number

if TYPE_CHECKING:
    from ehfl.experiment import Spec
    from ehfl.planning import Plan

SCHEDULERS = ("myopic", "greedy")  # unless others are asked for
_MOST_SEEDS = 1000
# The \b in it keeps the lines that follow as they are.
HELP = """Plan a fleet: what its harvest pays for, how many clients a round can be counted on, what to change.

Trains nothing. A year is played under each scheduler and seed (or --rounds of a fleet whose rounds have no length).
With --want and --free, the smallest battery, panel, number of clients or length of rounds that does what is wanted is
searched under every scheduler on harvested energy. docs/planning.md goes from the first command to a bought battery.

\b
Examples:
  ehfl plan --clients 20 --harvest sun:0.5 --capacity '1 Wh' \\
            --cost '300 J' --round-length '1 h' --seeds 1
  ehfl plan farm.toml --want '20 clients in 99 % of rounds' --free battery
  ehfl plan farm.toml -s myopic:20 -s forecast:20 --curves --out plan
  ehfl plan -n 50 --rate 0.3 --capacity 5 --rounds 1000 \\
            --want '10 clients in 99 % of rounds' --free battery
"""


def plan(
    context: typer.Context,
    spec: Annotated[
        Path | None, Argument(metavar="SPEC", parser=path, help="A TOML file [what options say].", show_default=False)
    ] = None,
    clients: Clients = None,
    rate: Rate = None,
    harvest: HarvestOption = None,
    capacity: Capacity = None,
    initial: Initial = None,
    cost: Cost = None,
    round_length: RoundLength = None,
    scheduler: Annotated[
        list[str] | None,
        Option("--scheduler", "-s", metavar="NAME", help="As of ehfl simulate; repeatable. [myopic, greedy]"),
    ] = None,
    target: Target = None,
    rounds: Annotated[
        int | None,
        Option(
            "--rounds", "-t", metavar="T", parser=whole, help="Rounds to play [a year; 1,000 if rounds have no length]."
        ),
    ] = None,
    seed: Seed = 0,
    seeds: Annotated[int, Option(metavar="N", parser=whole, help="Seeds to play, from --seed on.")] = 3,
    want: Annotated[str | None, Option(metavar="TEXT", help="What is wanted: '20 clients in 99 % of rounds'.")] = None,
    free: Annotated[
        str | None, Option(metavar="NAME", help="What may be changed for it: battery, panel, clients or round.")
    ] = None,
    sustain: Annotated[
        float | None,
        Option(metavar="PERCENT", parser=number, help="Find the most clients that take part in so many of the rounds."),
    ] = None,
    curves: Annotated[
        bool, Option("--curves", help="Play a quarter to four times the battery, panel and clients, too.")
    ] = False,
    clairvoyant: Annotated[
        bool, Option("--clairvoyant", help="Show what any scheduler could have reached on these harvests, too.")
    ] = False,
    jobs: Annotated[
        int | None, Option(metavar="N", parser=whole, help="Processes [one a core, for large fleets].")
    ] = None,
    override: Override = None,
    out: Annotated[Path | None, Option(metavar="FOLDER", parser=path, help="Write a page and figures here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Plan a fleet: what its harvest pays for, how many clients a round can be counted on, what to change."""
    _check_combination(context, spec, want, free)
    if out is not None:
        check_folder("--out", out)
    if jobs is not None:
        whole_number("--jobs", jobs, low=1, high=256)
    names = ({} if spec is not None else names_in(context)) | {
        "want": "--want",
        "free": "--free",
        "sustain": "--sustain",
    }
    with named_by_option(names), own_prints_aside():
        found, read = _planned(context, spec)
    if out is not None:  # before anything is printed, since nobody may read it to its end
        _write(found, read, out)
    _show(found, as_json)


def _check_combination(context: typer.Context, spec: Path | None, want: str | None, free: str | None) -> None:
    """Refuse options that would be ignored."""
    if free is not None and want is None:
        raise InvalidValue("--free", "left out without --want, which says what it is for", free)
    for option in KEYS if spec is not None else ():
        if option not in ("rounds", "seed", "scheduler") and option in context.params and is_given(context, option):
            given = value_of(context, option)
            raise InvalidValue(f"--{option.replace('_', '-')}", "left out with a spec: use -o KEY=VALUE", given)


def _planned(context: typer.Context, file: Path | None) -> tuple[Plan, Spec]:
    from ehfl.experiment import check_harvests
    from ehfl.experiment.building import scheduler_of
    from ehfl.experiment.planning import MOST_ROUNDS
    from ehfl.experiment.planning import plan as plan_all
    from ehfl.experiment.varying import FREE
    from ehfl.planning import Want

    given = context.params
    rounds, free, sustain = given["rounds"], given["free"], given["sustain"]
    if rounds is not None:
        whole_number("--rounds", rounds, low=1, high=MOST_ROUNDS)
    if free is not None and free not in FREE:
        raise InvalidValue("--free", f"one of {', '.join(FREE)}", free)
    if sustain is not None:
        number_in("--sustain", sustain, "(0, 100]")
    want = None if given["want"] is None else Want.parse(given["want"], "--want")
    read, note = _spec(context, file)
    check_harvests(read)
    for arm in read.arms:
        say_if_blind(arm.label, scheduler_of(arm.setting))
    if given["clairvoyant"]:
        say_if_planning_compiles()
    with _steps() as on_step:
        found = plan_all(read, rounds=rounds, want=want, free_name=free, sustain=sustain and sustain / 100,
                         curves=given["curves"], possible=given["clairvoyant"],
                         jobs=given["jobs"], on_step=on_step, note=note)  # fmt: skip
    return found, read


def _spec(context: typer.Context, spec: Path | None) -> tuple[Spec, str]:
    """Return the spec with the schedulers and seeds that were asked for, and a note on what was changed in it.

    A battery that cannot hold a turn is no reason to refuse a search for one that can: it starts from the smallest.
    """
    try:
        return _read(context, spec, {}), ""
    except SpecError as error:
        if context.params["free"] != "battery" or context.params["want"] is None:
            raise
        from ehfl.experiment.varying import smallest_battery

        try:
            endless = _read(context, spec, {"fleet.capacity": math.inf, "fleet.initial": 0})
            least, shown = smallest_battery(endless)
            note = f"Batteries as given cannot be played: planned with {shown}, the smallest that holds a turn."
            return _read(context, spec, {"fleet.capacity": least}), note
        except SpecError:
            raise error from None  # something else is wrong


def _read(context: typer.Context, spec: Path | None, changes: dict[str, Any]) -> Spec:
    """Return the spec of a file or of the options, with these changes by key."""
    from ehfl.experiment.changing import parsed_overrides
    from ehfl.experiment.reading import read_spec
    from ehfl.randomness import check_seed

    given = context.params
    number = whole_number("--seeds", given["seeds"], low=1, high=_MOST_SEEDS)
    more: dict[str, Any] = {"seeds": [check_seed(check_seed(given["seed"]) + i) for i in range(number)]}
    overrides = parsed_overrides(given["override"] or ())
    arms = [key for key in overrides if key.split(".")[0] in ("scheduler", "schedulers", "arms")]
    if spec is None:
        if not is_given(context, "scheduler") and not arms:
            more["schedulers"] = list(SCHEDULERS)
        if given["rounds"] is None:
            more["rounds"] = 1000
        return spec_of(context, **more, **changes)
    if is_given(context, "scheduler"):
        more |= {"schedulers": list(given["scheduler"]), "scheduler": None, "arms": None}
    return read_spec(spec, more | overrides | changes)


@contextmanager
def _steps() -> Iterator[Callable[[str], None]]:
    """Give a function that shows what is being played; it says nothing where no terminal would show it."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: None
        return
    with console.status("playing") as status:
        yield lambda step: status.update(f"playing: {step}")


def _write(found: Plan, spec: Spec, out: Path) -> None:
    from ehfl.experiment.reading import write_spec
    from ehfl.report import write_plan

    out.mkdir(parents=True, exist_ok=True)
    command = shlex.join(["ehfl", *sys.argv[1:]])
    page = write_plan(found, out, spec=write_spec(spec.facts()), facts=_facts(), commands=[command])
    say_where("page", page)


def _facts() -> dict[str, str]:
    """Return what a page says of how it was made."""
    import ehfl

    return {"ehfl": ehfl.__version__}


def _show(found: Plan, as_json: bool) -> None:
    from ehfl.report import plan_facts, plan_sentences, plan_table

    if as_json:
        typer.echo(json_text(plan_facts(found)))
        return
    fleet, seeds = found.fleet, len(found.seeds)
    played = f"{found.rounds:,} rounds, {seeds} seed{'' if seeds == 1 else 's'}"
    print_table(f"{fleet.clients:,} clients, {fleet.harvest!r}, {played}", plan_table(found))
    print_sentences(plan_sentences(found))
