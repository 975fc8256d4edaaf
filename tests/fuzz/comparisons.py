"""Whole comparisons of odd but right specs: run, reported and drawn, and the same again when asked again."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from ehfl.experiment import write_spec

from .judging import Outcome, call, judge, judge_json
from .specs import RIGHT, SMALL

LABELS = (
    "a", "a b", "é", "日本語", "nan", "-inf", "=1+1", "<b>bold</b>", "&amp;", "x" * 80, "100 %", "{0}", "'", '"', "☀",
)  # fmt: skip


def try_comparison(chance: Random, place: Path) -> Iterator[str]:
    """Run a comparison, and report it or ask for it again: the numbers must be the same."""
    spec = _spec(chance)
    (place / "odd.toml").write_text(write_spec(spec), encoding="utf-8")
    words = ["compare", "odd.toml", "--jobs", "1", "--json"]
    yield f"{spec!r}; ehfl {shlex.join(words)}"
    first = call(words)
    yield from judge(words, first, set())
    if first.code != 0:
        return
    folder = f"runs/{spec['name']}"
    yield from judge_json((place / folder / "summary.json").read_text(encoding="utf-8"))
    if chance.random() < 0.5:
        again = chance.choice((words, ["report", folder, "--json"]))
        yield from _same(again, call(again), first)
        return
    key = chance.choice(list(RIGHT))
    changed = [*words, "-o", f"{key}={_in_toml(chance.choice(RIGHT[key]))}"]
    outcome = call(changed)
    yield from judge(changed, outcome, set())
    if outcome.code == 0:  # what was there already is as if it had been run just now
        yield from _same(changed, outcome, call([*changed, "--runs", "fresh"]))


def _same(words: list[str], one: Outcome, other: Outcome) -> Iterator[str]:
    """Yield whether a command shows other numbers than it should."""
    if one.code != other.code or json.loads(one.out) != json.loads(other.out):
        yield f"{shlex.join(words)} shows other numbers: {one.err} {one.out[:500]} instead of {other.out[:500]}"


def _in_toml(value: Any) -> str:
    """Return a value as it is written behind KEY=, tables in one line."""
    text = write_spec({"value": value}) if not isinstance(value, dict) else ""
    inline = json.dumps(value).replace(": ", " = ").replace("Infinity", "inf")
    return text.partition("=")[2].strip() if text.count("\n") == 1 else inline


def _spec(chance: Random) -> dict[str, Any]:
    """Return a spec of right values alone; whether they fit together is another matter."""
    spec = copy.deepcopy(SMALL)
    for key in chance.sample(list(RIGHT), chance.randrange(6)):
        *sections, last = key.split(".")
        inner = spec
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[last] = chance.choice(RIGHT[key])
    if chance.random() < 0.5:
        spec.pop("schedulers", None)
        names = chance.sample(LABELS, chance.randint(1, 4))
        spec["arms"] = [
            {"label": name, "scheduler": chance.choice(("greedy", "myopic", "always-on"))} for name in names
        ]
    if isinstance(spec.get("seeds"), int) and spec["seeds"] > 9:
        spec["seeds"] = 2
    return spec
