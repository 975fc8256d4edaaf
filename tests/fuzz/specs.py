"""Specs: tables, overrides and files with values of all kinds under all keys. What is accepted must not change."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import ehfl
from ehfl.experiment import Spec, read_spec, write_spec
from ehfl.runs import inside
from ehfl.validation import UserError

from .judging import judge_error
from .values import KNOWN, spoilt, typed, wild

Facts = dict[str, Any]

SMALL: Facts = {
    "name": "small", "rounds": 2, "seeds": 1, "schedulers": ["greedy"], "fleet": {"clients": 3},
    "learning": {"task": "quadratic", "local_steps": 1}, "evaluation": {"every": 1},
}  # fmt: skip
# Values that each key may have, none of them large.
RIGHT: dict[str, tuple[Any, ...]] = {
    "name": ("small", "a.b", "x-1"),
    "rounds": (1, 2, 3),
    "target": (1, 2, "auto"),
    "seeds": (1, 2, [3], [0, 7], 18446744073709551615, [18446744073709551615]),
    "schedulers": (["greedy", "myopic"], ["round-robin:1"], [{"name": "uniform-random"}, "always-on"]),
    "scheduler": ("myopic", "power-of-choice", {"name": "round-robin", "per_round": 1}),
    "arms": (
        [{"scheduler": "greedy"}, {"scheduler": "myopic", "label": "the other", "rounds": 3}],
        [
            {"label": "a", "fleet.capacity": 2},
            {"label": "b", "learning": {"clip": 1.0}},
            {"label": "c", "step_size": 1},
        ],
    ),
    "fleet.clients": (1, 2, 3),
    "fleet.harvest": (
        "bernoulli:0.4",
        {"name": "replay", "arrivals": [[1, 0, 1]] * 3},
        {"name": "bernoulli", "rate": 1},
        {"name": "markov", "stay_on": 0.9, "stay_off": [0.1, 0.2, 0.3]},
        {"name": "poisson", "rate": {"low": 0.5, "high": 2}},
        {"name": "compound", "rate": 0.2, "mean_size": 4},
        {"name": "periodic", "pattern": [0, 1, 2], "shift": {"low": 0, "high": 2}},
    ),
    "fleet.rate": (0, 0.5, 1, [0.1, 0.2, 0.3], {"low": 0.1, "high": 0.9}),
    "fleet.capacity": (1, 5, math.inf, [1, 2, 3], [math.inf, 2, 3], {"low": 1, "high": 9}),
    "fleet.initial": (0, 1, [0, 1, 1]),
    "fleet.cost": (1, 2, [1, 2, 1]),
    "fleet.unit": ("mJ", "kWh", "µJ"),
    "learning.task": ("wells", {"name": "quadratic"}),
    "learning.local_steps": (1, 2),
    "learning.batch_size": (1, 3),
    "learning.step_size": (0.1, "linear", {"name": "constant", "value": 0.3}, "theorem:0.5", "nominal-causal"),
    "learning.partition": ("iid", "shards:1", {"name": "dirichlet", "alpha": 3.0}),
    "learning.order": ("random", "by-label"),
    "learning.aggregation": ("mean", "weighted", {"name": "mean"}),
    "learning.clip": (1, 0.5, "none"),
    "learning.weight_decay": (0, 0.0, 0.1),
    "learning.precision": ("float32", "bf16"),
    "learning.device": ("cpu", "auto"),
    "learning.data": ("none",),
    "evaluation.every": (1, 2),
    "evaluation.goal": ("auto", 0.5, 3),
    "code": (".",),
}
# Keys whose values come back as they were given; others have short forms.
AS_GIVEN = (
    "name", "rounds", "target", "fleet.clients", "fleet.capacity", "fleet.initial", "fleet.cost", "fleet.unit",
    "learning.local_steps", "learning.batch_size", "learning.order", "learning.weight_decay", "learning.precision",
    "learning.device", "evaluation.every", "evaluation.goal",
)  # fmt: skip


def try_spec(chance: Random, place: Path) -> Iterator[str]:
    """Try one spec, and where it is accepted, whether it comes back as it was given."""
    facts, overrides = _table(chance), _overrides(chance)
    as_text = chance.random() < 0.3
    text = _text(chance, facts) if as_text else None
    yield f"read_spec({'spec.toml with ' + repr(text) if as_text else facts!r}, {overrides!r})"
    if text is not None:
        (place / "spec.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        spec = read_spec("spec.toml" if text is not None else facts, overrides)
        spec.facts()  # tasks and aggregations are torch's, and looked for when they are first needed
    except UserError as error:
        yield from judge_error(error)
        return
    if text is None:
        yield from _changed(facts, overrides, spec)
    yield from _written_and_read(spec, place)
    if chance.random() < 0.1:
        yield from _run(spec)


def _table(chance: Random) -> Facts:
    """Return a small spec with some keys changed."""
    facts = copy.deepcopy(SMALL)
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        key = chance.choice(list(RIGHT))
        value = chance.choice(RIGHT[key]) if chance.random() < 0.6 else wild(chance)
        *sections, last = key.split(".")
        inner = facts
        for section in sections:
            inner = inner.setdefault(section, {})
            if not isinstance(inner, dict):
                return facts
        inner[spoilt(chance, last) if chance.random() < 0.05 else last] = value
    if "arms" in facts and chance.random() < 0.9:
        facts.pop("schedulers", None)
    return facts


def _overrides(chance: Random) -> list[str]:
    found = []
    for _ in range(chance.choice((0, 0, 1, 2))):
        key = chance.choice(list(RIGHT))
        value = chance.choice((repr(chance.choice(RIGHT[key])), chance.choice(KNOWN), typed(chance)))
        found.append(f"{spoilt(chance, key) if chance.random() < 0.05 else key}={value}")
    return found


def _text(chance: Random, facts: Facts) -> str:
    """Return a spec as TOML, sometimes with a character too many or too few."""
    try:
        text = write_spec(facts)
    except (TypeError, ValueError):  # TOML has no such values
        text = write_spec(SMALL)
    return spoilt(chance, text) if chance.random() < 0.5 else text


def _changed(facts: Facts, overrides: list[str], spec: Spec) -> Iterator[str]:
    """Yield the values that an accepted spec has otherwise than they were given."""
    found = spec.facts()
    for key in AS_GIVEN:
        given = inside(facts, key.split("."))
        held = inside(found, key.split("."))
        told = any(text.partition("=")[0].strip() in (key, key.split(".")[0]) for text in overrides)
        if given is not None and not told and not isinstance(given, dict) and held not in _in_toml(given):
            yield f"{key} was given as {given!r} and became {held!r}"


def _in_toml(given: Any) -> list[Any]:
    """Return how TOML may have a value: it knows no arrays, and large whole numbers where there may be fractions."""
    plain = given.tolist() if isinstance(given, np.ndarray | np.generic) else given
    return [plain, float(plain)] if isinstance(plain, int) and abs(plain) > 2**53 else [plain]


def _written_and_read(spec: Spec, place: Path) -> Iterator[str]:
    """Yield whether the spec, or one of its runs, is another when it was written and read again."""
    for number, facts in enumerate([spec.facts(), *(run.facts() for run in spec.runs()[:3])]):
        path = place / f"again{number}.toml"
        path.write_text(write_spec(facts), encoding="utf-8")
        try:
            again = read_spec(path).facts()
        except UserError as error:
            yield f"what was accepted is refused when written and read again: {error}"
            return
        if again != facts:
            yield f"written and read again, {_first_difference(facts, again)}"


def _first_difference(one: Facts, other: Facts) -> str:
    key = next(key for key in {**one, **other} if one.get(key) != other.get(key))
    return f"{key} changes from {one.get(key)!r} to {other.get(key)!r}"


def _run(spec: Spec) -> Iterator[str]:
    """Yield what is wrong with how a spec runs, where it is a small one."""
    small = all(run.setting.rounds <= 3 and run.setting.learning.local_steps <= 3 for run in spec.runs()[:20])
    tasks = {run.setting.learning.task["name"] for run in spec.runs()[:20]}
    if len(spec.runs()) > 8 or not small or not tasks <= {"quadratic", "wells"}:
        return
    try:
        compared = ehfl.compare(spec, runs="runs", jobs=1)
    except UserError as error:
        yield from judge_error(error)
        return
    for arm in compared.arms:
        for trial in arm.trials:
            if not all(math.isfinite(one.test_loss or 0) for one in trial.records):
                yield f"{arm.name} has a loss that is no number"
