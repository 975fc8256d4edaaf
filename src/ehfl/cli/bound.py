"""`ehfl bound`: what theory promises, scheduler by scheduler, and what is measured."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ehfl.cli.options import AsJson, Capacity, Clients, Initial, Rate, Rounds, Scheduler, Seed, Target
from ehfl.cli.output import FIGURES, check_writable, progress
from ehfl.cli.parsing import read_setting, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ehfl.cli.parsing import Setting

# The \b in it keeps the lines that follow as they are.
HELP = """Bound the gradient norm for the participation that really happens.

Prints the paper's theorem (as printed and as corrected) with its conditions, the realised bound under three step size
rules and under the best step sizes of all, and how many times as many rounds as on mains power that means.
docs/theory.md has the derivations.

\b
Examples:
  ehfl bound
  ehfl bound --local-steps 5 --smoothness 2 --variance 10 --gap 2.3
  ehfl bound -s myopic -s round-robin:1 --capacity 1 --rounds 2000 --json
  ehfl bound --verify --figure bound.png
"""


def bound(
    clients: Clients = None,
    rate: Rate = "0.5",
    capacity: Capacity = "inf",
    initial: Initial = 0,
    scheduler: Scheduler = None,
    target: Target = "auto",
    rounds: Rounds = 1000,
    seed: Seed = 0,
    local_steps: Annotated[int, Option("--local-steps", "-k", metavar="K", parser=whole, help="SGD steps a round.")] = 1,
    smoothness: Annotated[float, Option(metavar="L", help="Smoothness of the loss.")] = 1.0,
    variance: Annotated[float, Option(metavar="S2", help="Variance of a stochastic gradient.")] = 1.0,
    gap: Annotated[float, Option(metavar="D", help="f(x_0) - f*.")] = 1.0,
    eta: Annotated[
        float | None, Option(metavar="ETA", help="The theorem's eta [what is best for the realised bound].")
    ] = None,
    verify: Annotated[bool, Option("--verify", help="Run SGD on known problems and compare with the bound.")] = False,
    seeds: Annotated[int, Option(metavar="N", parser=whole, help="Runs per experiment of --verify.")] = 200,
    as_json: AsJson = False,
    figure: Annotated[Path | None, Option(metavar="FILE", help="Draw the result here: .png, .svg or .pdf.")] = None,
) -> None:
    """Bound the gradient norm for the participation that really happens."""
    from ehfl.theory import Constants

    setting = read_setting(clients, rate, capacity, initial, scheduler, target)
    if figure is not None:
        check_writable("figure", figure, FIGURES)
    counts = _play(setting, rounds, seed)
    if verify:
        _verify(counts, whole_seeds(seeds), seed, as_json, figure)
    else:
        _promise(counts, local_steps, Constants(smoothness, variance, gap), eta, as_json, figure)
