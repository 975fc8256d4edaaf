"""`ehfl plan`: what a fleet can sustain through a year, and what to change about it."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ehfl.cli.live import progress
from ehfl.cli.options import FLEET, JOULES, AsJson, Clairvoyant, Full, Given, Unset, command, named_by_option
from ehfl.cli.output import (
    check_folder,
    print_output,
    say_if_blind,
    say_if_planning_compiles,
    say_where,
)
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import number, path, whole
from ehfl.files import json_text
from ehfl.validation import number_in, whole_number

if TYPE_CHECKING:
    from ehfl.experiment import Spec
    from ehfl.planning import Designs, Plan

_MOST_SEEDS = 1000


@command(
    "What a fleet can sustain, and what to change.",
    *(*FLEET, *JOULES, "target"),
    scheduler=["myopic", "greedy"],
    rounds=Unset("a year; 1,000 where rounds have no length"),
    seed=0,
)
def plan(
    given: Given,
    specs: Annotated[
        list[Path] | None, Argument(metavar="SPEC", parser=path, help="TOML files, one a fleet [what options say].")
    ] = None,
    seeds: Annotated[
        int | None, Option(metavar="N", parser=whole, help="Years of weather, from --seed on [5].")
    ] = None,
    want: Annotated[str | None, Option(metavar="TEXT", help="What is wanted: '20 clients in 99 % of rounds'.")] = None,
    free: Annotated[
        str | None, Option(metavar="NAME", help="What may be changed for it: battery, panel, clients or round.")
    ] = None,
    sustain: Annotated[
        float | None,
        Option(metavar="PERCENT", parser=number, help="Find the most clients that take part in this share of rounds."),
    ] = None,
    precision: Annotated[
        float | None,
        Option(
            metavar="PERCENT",
            parser=number,
            help="Play more years until half the interval of an answer is this part of it [35; none with --seeds].",
        ),
    ] = None,
    curves: Annotated[
        bool, Option("--curves", help="Play a quarter to four times the battery, panel and clients, too.")
    ] = False,
    size_map: Annotated[
        bool, Option("--map", help="Play batteries and panels together: a map, and the line that meets --want.")
    ] = False,
    price: Annotated[
        list[str] | None,
        Option(metavar="PRICE", help="Find the cheapest design: --price battery=0.30/Wh --price panel=1.2/W."),
    ] = None,
    clairvoyant: Clairvoyant = False,
    from_empty: Annotated[
        bool, Option("--from-empty", help="Start with empty batteries, not as they are after a year.")
    ] = False,
    jobs: Annotated[
        int | None, Option(metavar="N", parser=whole, help="Processes [one a core, for large fleets].")
    ] = None,
    out: Annotated[Path | None, Option(metavar="FOLDER", parser=path, help="Write a page and figures here.")] = None,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    r"""Plan a fleet: what its harvest pays for, how many clients a round can be counted on, what to change.

    Trains nothing. A year is played under each scheduler and seed (or --rounds of a fleet whose rounds have no length).
    With --want and --free, the smallest battery, panel, number of clients or length of rounds that does what is wanted
    is searched under every scheduler on harvested energy. Several specs, and arms with other fleets, are put side by
    side. docs/planning.md goes from the first command to a bought battery.

    \b
    Examples:
      ehfl plan --clients 20 --harvest sun:0.5 --capacity '1 Wh' \
                --cost '300 J' --round-length '1 h' --seeds 1
      ehfl plan farm.toml --want '20 clients in 99 % of rounds' --free battery
      ehfl plan farm.toml -s myopic:20 -s forecast:20 --curves --out plan
      ehfl plan roof.toml field.toml --want '20 clients in 99 % of rounds'
      ehfl plan -n 50 --rate 0.3 --capacity 5 --rounds 1000 \
                --want '10 clients in 99 % of rounds' --free battery
    """
    if specs:
        given.refuse(set(given.options) - {"rounds", "seed", "scheduler"}, "with a spec: use -o KEY=VALUE")
    check_folder("--out", out)
    if jobs is not None:
        whole_number("--jobs", jobs, low=1, high=256)
    names = ({} if specs else given.names) | {name: f"--{name}" for name in ("want", "free", "sustain")}
    with named_by_option(names), own_prints_aside():
        found = [one for file in specs or (None,) for one in _planned(given, file)]
    from ehfl.planning import Designs
    from ehfl.report import designs_facts, designs_output, plan_facts, plan_output

    designs = Designs(tuple(plan for plan, _ in found)) if len(found) > 1 else None
    if out is not None:  # before anything is printed: a closed pipe must not lose it
        _write(found, designs, out)
    if as_json:
        typer.echo(json_text(plan_facts(found[0][0]) if designs is None else designs_facts(designs)))
    else:
        print_output(plan_output(found[0][0]) if designs is None else designs_output(designs), full=full)


def _planned(given: Given, file: Path | None) -> list[tuple[Plan, Spec]]:
    """Return a plan, and its spec, for each fleet of a file or of what options say."""
    from ehfl.experiment.plan import MOST_ROUNDS, SEEDS, designs_of, has_seeds, make_plan, read_plannable
    from ehfl.experiment.spec.build import scheduler_of
    from ehfl.planning import PRECISION, Prices, Want
    from ehfl.randomness import check_seed

    rounds, free, sustain = given["rounds"], given["free"], given["sustain"]
    if rounds is not None:
        whole_number("--rounds", rounds, low=1, high=MOST_ROUNDS)
    if sustain is not None:
        number_in("--sustain", sustain, "(0, 100]")
    want = None if given["want"] is None else Want.parse(given["want"], "--want")
    named = dict(one.partition("=")[::2] for one in given["price"] or ())
    prices = Prices.parse(named, "--price") if named else None
    source: Path | dict[str, Any] = {} if file is None else file
    options = None if file is None else ["scheduler"]
    seeds = given.seeds(_MOST_SEEDS)
    precision = given["precision"] and given["precision"] / 100
    overridden = any(text.partition("=")[0].strip() == "seeds" for text in given["override"] or ())
    if seeds is None and not overridden and (given.has("seed") or not has_seeds(file)):
        seeds = [check_seed(check_seed(given["seed"]) + i) for i in range(SEEDS)]
        precision = precision or PRECISION
    start = {"fleet.initial": 0} if given["from_empty"] else {}
    read, note = read_plannable(lambda changes: given.spec(source, options, seeds=seeds, **start | changes), want, free)
    for arm in read.arms:
        say_if_blind(arm.label, scheduler_of(arm.setting))
    if given["clairvoyant"]:
        say_if_planning_compiles()
    with progress("planning", detail=str) as on_step:
        return [
            (make_plan(one, rounds=rounds, want=want, free=free, sustain=sustain and sustain / 100,
                       precision=precision, curves=given["curves"], size_map=given["size_map"], prices=prices,
                       possible=given["clairvoyant"], jobs=given["jobs"], on_step=on_step, note=note), one)
            for one in designs_of(read)
        ]  # fmt: skip


def _write(found: list[tuple[Plan, Spec]], designs: Designs | None, out: Path) -> None:
    import ehfl
    from ehfl.report import write_designs, write_plan

    out.mkdir(parents=True, exist_ok=True)
    commands, facts = [shlex.join(["ehfl", *sys.argv[1:]])], {"ehfl": ehfl.__version__}
    specs = [_played(*one) for one in found]
    if designs is None:
        page = write_plan(found[0][0], out, spec=specs[0], facts=facts, commands=commands)
    else:
        page = write_designs(designs, out, specs=specs, facts=facts, commands=commands)
    say_where("page", page)


def _played(plan: Plan, spec: Spec) -> str:
    """Return the spec of what was planned, as TOML."""
    from ehfl.experiment.spec.read import open_spec, write_spec
    from ehfl.runs import slug

    played = {"rounds": plan.rounds} | ({} if plan.want is None else {"target": plan.want.clients})
    facts = open_spec(replace(spec, name=slug(spec.name)), played).facts()
    if "initial" not in spec.base.fleet.model_fields_set:  # written out, its default would mean empty batteries
        del facts["fleet"]["initial"]
    return write_spec(facts)
