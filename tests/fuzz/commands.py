"""Command lines: every command with every option it has, valued rightly, nearly rightly and wildly."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import typer.main

from ehfl.cli.app import app

from .judging import Outcome, call, files_in, judge
from .values import spoilt, typed

SPEC = """
rounds = 2
seeds = 1
schedulers = ["greedy"]
[fleet]
clients = 3
[learning]
task = "quadratic"
local_steps = 1
"""
# Options that keep a command small; what is drawn below replaces them.
SMALL = {
    "simulate": {"--rounds": "3"},
    "bound": {"--rounds": "4"},
    "train": {"--rounds": "2", "--clients": "3", "--task": "quadratic", "--local-steps": "1"},
    "compare": {"--jobs": "1"},
    "audit": {"--seeds": "2"},
    "report": {},
    "devices": {"--device": "cortex-m4", "--radio": "ble"},
    "flower app": {},
}
RIGHT = {
    "--radio": ("ble", "esp32-wifi-mqtt", "lora-sf9"),
    "--clients": ("1", "2", "3", "4"),
    "--rate": ("0.5", "0", "1", "0.1,0.5,0.9", "rates.csv", "{low=0.1,high=0.9}", "odd.csv"),
    "--harvest": (
        "bernoulli:0.3",
        "replay:sun.csv",
        "replay:odd.csv",
        "markov:stay_on=0.9,stay_off=0.8",
        "poisson:rates.csv",
        "compound:rate=0.2,mean_size=3",
        "periodic:[0,1,2]",
    ),
    "--capacity": ("3", "inf", "odd.csv", "1,2,3", "{low=1,high=9}"),
    "--initial": ("0", "1", "1,1,1"),
    "--cost": ("1", "2", "1,2,1"),
    "--round-length": ("3600", "1 h"),
    "--standby": ("0.001", "2 mW"),
    "--reserve": ("0.1", "0"),
    "--scheduler": ("myopic", "greedy", "round-robin:1", "always-on", "power-of-choice", "uniform-random"),
    "--target": ("1", "2", "auto"),
    "--rounds": ("1", "2", "3"),
    "--seed": ("0", "7", "18446744073709551615"),
    "--seeds": ("2", "3"),
    "--task": ("quadratic", "wells"),
    "--data": ("there",),
    "--local-steps": ("1", "2"),
    "--batch-size": ("1", "5"),
    "--step-size": ("0.1", "nominal", "linear", "constant:0.2", "theorem", "nominal-causal"),
    "--partition": ("iid", "dirichlet:10", "shards:1"),
    "--aggregation": ("mean", "weighted"),
    "--clip": ("1", "0.5"),
    "--weight-decay": ("0", "0.01"),
    "--eval-every": ("1", "2"),
    "--precision": ("float32", "0.3"),
    "--sweep": ("fleet.cost=1,2", "learning.batch_size=1,5"),
    "--want": ("2 clients in 90 % of rounds", "1 client in 99 % of rounds in December"),
    "--free": ("battery", "clients"),
    "--sustain": ("90",),
    "--device": ("cpu", "auto", "cortex-m4", "stm32f722"),
    "--threads": ("1",),
    "--workers": ("1",),
    "--jobs": ("1",),
    "--on": ("local",),
    "--smoothness": ("2", "0.5"),
    "--variance": ("0", "3"),
    "--gap": ("1", "0.1"),
    "--goal": ("0.5", "1"),
    "--override": ("rounds=2", "fleet.unit=mJ", "fleet.capacity=3", "learning.clip=1", "evaluation.goal=0.5"),
    "--figure": ("n.png", "n.svg", "n.pdf"),
    "--save": ("there",),
    "--run": ("there",),
    "--out": ("there",),
    "--runs": ("there",),
    "--nodes": ("1", "3", "7"),
    "--arm": ("greedy",),
}
ODD = (b"", b"\n", b"0.5", b"a,b\n1,0\n", b"1,2\n3\n", b"nan,inf\n", b"1e999\n", b"\xff\xfe\x00",
       b"\x93NUMPY\x01\x00", b"-1,-1,-1\n" * 9,
       b"1;2;3\n", b"# nothing\n", b"0.5,0.5,0.5", b"1 0 1\n" * 9, b"9" * 30 + b"\n",
       b"\xef\xbb\xbf0.1,0.2,0.3\n")  # fmt: skip
WIDTHS = ("1", "0", "-5", "20", "40", "1000", "wide", "")
NEVER = {"--task": {"digits", "cifar10", "cifar100"}}  # too slow for a case, or wants the network


def try_command(chance: Random, place: Path) -> Iterator[str]:
    """Try one command line, in a terminal of any width and any encoding."""
    lay_out(place)
    (place / "odd.csv").write_bytes(odd := _odd_content(chance))
    words = command_line(chance)
    columns, encoding = chance.choice((*WIDTHS, *["80"] * 9)), chance.choice(("ascii", "latin-1", *["utf-8"] * 9))
    yield f"COLUMNS={columns} PYTHONIOENCODING={encoding} ehfl {shlex.join(words)}, odd.csv holding {odd!r}"
    before = files_in(place)
    with patch.dict(os.environ, COLUMNS=columns):
        outcome = call(words, encoding)
    yield from judge(words, outcome, files_in(place) - before)
    if outcome.code == 0 and words[0] == "simulate" and "--json" in words and not {"-h", "--help"} & set(words):
        yield from _as_asked(words, outcome)
        if call(words, encoding).out != outcome.out:
            yield "the same command shows other numbers"


def lay_out(place: Path) -> None:
    """Put files there that options name."""
    (place / "tiny.toml").write_text(SPEC)
    (place / "rates.csv").write_text("0.1\n0.5\n0.9\n")
    (place / "sun.csv").write_text("1,0,1\n" * 9)
    (place / "there").mkdir()


def _odd_content(chance: Random) -> bytes:
    content = chance.choice(ODD)
    return content[: chance.randrange(len(content) + 1)] if chance.random() < 0.2 else content


def command_line(chance: Random) -> list[str]:
    """Return a command with some of its options."""
    command = chance.choice(list(SMALL))
    given = dict(SMALL[command])
    several: list[str] = []
    for _ in range(chance.choice((1, 1, 2, 2, 3, 5))):
        option, takes_value, repeatable = chance.choice(options_of(command))
        if not takes_value:
            several.append(option)
        elif repeatable:
            several += [option, value_for(chance, option)]
        else:
            given[option] = value_for(chance, option)
    words = [
        *command.split(),
        *_arguments(chance, command),
        *(word for pair in given.items() for word in pair),
        *several,
    ]
    return _disturbed(chance, words) if chance.random() < 0.15 else words


def value_for(chance: Random, option: str) -> str:
    """Return a value for an option: right, nearly right or wild."""
    right = chance.choice(RIGHT.get(option, ("1", "3")))
    drawn = chance.random()
    value = right if drawn < 0.55 else spoilt(chance, right) if drawn < 0.7 else typed(chance)
    return right if value in NEVER.get(option, ()) else value


@cache
def options_of(command: str) -> list[tuple[str, bool, bool]]:
    """Return a command's options as typer has them: the name, whether it takes a value, whether it is repeatable."""
    known: Any = typer.main.get_command(app)
    for word in command.split():
        known = known.commands[word]
    options = [one for one in known.params if one.param_type_name == "option"]
    return [(max(one.opts, key=len), not one.is_flag, one.multiple) for one in options]


def _arguments(chance: Random, command: str) -> list[str]:
    # Reports are drawn by another kind; here they have nothing to report on.
    if command == "report":
        return [chance.choice(("there", "tiny.toml", "nowhere", "", "rates.csv", typed(chance)))]
    if command == "flower app":
        return [chance.choice(("app", "there", typed(chance))), "tiny.toml", "-o", "learning.step_size=0.1"]
    if command in ("compare", "audit"):
        return ["tiny.toml", "-o", chance.choice((f"{typed(chance)}={typed(chance)}", f"rounds={typed(chance)}x"))]
    return [chance.choice(("tiny.toml", typed(chance)))] if command == "bound" and chance.random() < 0.2 else []


def _disturbed(chance: Random, words: list[str]) -> list[str]:
    """Return a command line with a word lost, said twice, put elsewhere or made up."""
    at = chance.randrange(len(words))
    match chance.randrange(5):
        case 0:
            return words[:at] + words[at + 1 :]
        case 1:
            return words[: at + 1] + words[at:]
        case 2:
            return [*words[:at], typed(chance), *words[at:]]
        case 3:
            return [*words[:at], spoilt(chance, words[at]), *words[at + 1 :]]
        case _:
            return [*words, chance.choice(("--help", "--nonsense", "-x", "--rounds=2", "--json", "--"))]


def _as_asked(words: list[str], outcome: Outcome) -> Iterator[str]:
    """Yield what was played otherwise than it was asked for."""
    facts = json.loads(outcome.out)
    asked = {words[at]: words[at + 1] for at in range(len(words) - 1)}  # numbers are TOML's: 0b1 is one, too
    overridden = "-o" in words or "--override" in words
    counts = [len(one["counts"]) for one in facts["schedulers"].values() if "counts" in one]
    if not overridden and any(number != int(asked["--rounds"], 0) for number in counts):
        yield f"{asked['--rounds']} rounds were asked for, {counts} played"
    if not overridden and "--clients" in asked and facts["fleet"]["clients"] != int(asked["--clients"], 0):
        yield f"{asked['--clients']} clients were asked for, {facts['fleet']['clients']} played"
    named = [words[at + 1] for at in range(len(words) - 1) if words[at] in ("-s", "--scheduler")]
    if not overridden and named and len(named) != len(facts["schedulers"]):
        yield f"{named} were asked for, {list(facts['schedulers'])} played"
