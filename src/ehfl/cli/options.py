"""Options that several commands share, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from ehfl.cli.parsing import whole

RUNS = Path("runs")  # where experiments are kept, unless told otherwise

Clients = Annotated[int | None, Option("--clients", "-n", metavar="N", parser=whole, help="Clients in the fleet [10].")]
Rate = Annotated[
    str, Option(metavar="RATE", help="Chance of a unit per client and round: a number, a list 0.1,0.9 or a file.")
]
Capacity = Annotated[str, Option(metavar="UNITS", help="What a battery holds, or inf.")]
Initial = Annotated[int, Option(metavar="UNITS", parser=whole, help="What a battery holds at the start.")]
Cost = Annotated[int, Option(metavar="UNITS", parser=whole, help="What a round costs a participant.")]
Scheduler = Annotated[
    list[str] | None,
    Option(
        "--scheduler",
        "-s",
        metavar="NAME",
        help="myopic, greedy, round-robin, uniform-random, always-on, or package.module:Class. Repeat to compare; "
        "a width of its own is written round-robin:1. [myopic, round-robin, greedy]",
    ),
]
Target = Annotated[str, Option(metavar="N", help="Clients wanted a round; auto is what is sustainable.")]
Rounds = Annotated[int, Option("--rounds", "-t", metavar="T", parser=whole, help="Rounds to play.")]
Seed = Annotated[int, Option(metavar="SEED", parser=whole, help="Seed of the weather and the tie-breaks.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]
