"""Runs that are asked for twice, the second time otherwise: refused, or as if they had been run just now."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from .commands import RIGHT, SMALL, lay_out, options_of, value_for
from .judging import Outcome, call, judge


def try_resumed(chance: Random, place: Path) -> Iterator[str]:
    """Train in a folder, then again in the same folder with an option more, and elsewhere with the same options."""
    lay_out(place)
    (place / "odd.csv").write_text("0.5,0.5,0.5\n")
    options, changed = SMALL["train"] | _options(chance), _options(chance)
    first, second = _command(options), _command(options | changed)
    yield f"ehfl {shlex.join(first)}, and then with {changed}"
    before, after = call(first), call(second)
    for words, outcome in ((first, before), (second, after)):
        yield from judge(words, outcome, set())
    if after.code == 0:
        fresh = call(["elsewhere" if word == "run" else word for word in second])
        if _numbers(after) != _numbers(fresh):
            yield f"other numbers than in a new folder: {after.out[:500]} instead of {fresh.out[:500]}"


def _command(options: dict[str, str]) -> list[str]:
    return ["train", "--json", "--run", "run", *(word for pair in options.items() for word in pair)]


def _options(chance: Random) -> dict[str, str]:
    """Return a few options of the command, mostly with right values."""
    known = [name for name, takes_value, several in options_of("train") if takes_value and not several]
    names = [
        name for name in chance.sample(known, chance.choice((1, 1, 2, 3))) if name not in ("--run", "--data", "--track")
    ]
    return {name: value_for(chance, name) if chance.random() < 0.2 else chance.choice(RIGHT[name]) for name in names}


def _numbers(outcome: Outcome) -> Any:
    """Return the rounds without their timing."""
    if outcome.code != 0:
        return outcome.err
    rounds = json.loads(outcome.out)["rounds"]
    return [{name: value for name, value in one.items() if not name.endswith("seconds")} for one in rounds]
