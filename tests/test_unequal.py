"""What docs/unequal.md says is what results/ holds, and that is what its evaluations give."""

from __future__ import annotations

import csv
import json
import re
import runpy
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ehfl.analysis import Comparison, Difference, difference
from ehfl.analysis.numbers import p_value
from ehfl.analysis.served import final_by_class
from ehfl.arrays import FloatArray
from ehfl.experiment import Arm, read_spec
from ehfl.report import as_facts
from ehfl.report.texts import table_text

ROOT = Path(__file__).parents[1]
PAGE = " ".join((ROOT / "docs" / "unequal.md").read_text(encoding="utf-8").split())
NAMES = ("unequal", "unequal-own-steps", "unequal-scarce", "unequal-scarce-longer-steps", "unequal-cifar10")
INTERVAL = re.compile(r"[+-]?\d+\.\d \([+-]?\d+\.\d to [+-]?\d+\.\d\)")


@cache
def published(name: str) -> Comparison:
    found: Comparison = runpy.run_path(str(ROOT / "results" / "redraw.py"))["published"](name)
    return found


@cache
def summary_of(name: str) -> dict[str, Any]:
    return dict(json.loads((ROOT / "results" / name / "summary.json").read_text(encoding="utf-8")))


def row_of(arm: dict[str, Any]) -> str:
    """Return an arm's line of the page's table."""
    served = f"{ends(arm['worst_class'])} | {gap(arm['worst_class_difference'])} | {ends(arm['worst_tenth'])}"
    return f"| {arm['arm']} | {ends(arm['final'])} | {gap(arm['difference'])} | {ends(arm['area'])} | {served} |"


def ends(found: dict[str, float]) -> str:
    low, high = max(found["low"], 0), min(found["high"], 1)  # of shares, where Student's t knows no bounds
    return f"{100 * found['mean']:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def gap(found: dict[str, float] | None) -> str:
    if found is None:
        return ""
    means = f"{100 * found['mean']:+.1f} ({100 * found['low']:+.1f} to {100 * found['high']:+.1f})"
    return f"{means}, p = {p_value(found['p_value'])}".replace("p = <", "p <")


def finals(name: str, arm: str) -> tuple[FloatArray, FloatArray]:
    """Return the accuracy and that of the worst class after the last round, each (n_seeds,)."""
    found = published(name).arm(arm)
    by_class = final_by_class(found)
    assert by_class is not None
    return found.metric[:, -1], by_class.min(axis=1)


def contrasts() -> Iterator[Difference]:
    """Yield what the page compares beyond its tables: each arm with each other, and gains where energy differs."""
    for name in NAMES:
        arms = [arm.name for arm in published(name).arms]
        for one in arms:
            for other in arms:
                pairs = zip(finals(name, one), finals(name, other), strict=True)
                yield from (difference(mine, theirs) for mine, theirs in pairs if one != other)
    for method in ("mifa", "fedvarp"):
        for name in ("unequal-scarce", "unequal-scarce-longer-steps"):
            fifth, half = (gains(name, f"{level}: {method}", f"{level}: mean") for level in ("A fifth", "Half"))
            yield from (difference(mine, theirs) for mine, theirs in zip(fifth, half, strict=True))


def gains(name: str, arm: str, mean: str) -> list[FloatArray]:
    return [mine - theirs for mine, theirs in zip(finals(name, arm), finals(name, mean), strict=True)]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_quotes_every_arm(name: str) -> None:
    for arm in summary_of(name)["arms"]:
        assert " ".join(row_of(arm).split()) in PAGE


def test_every_interval_on_the_page_comes_from_the_results() -> None:
    known = {found for name in NAMES for arm in summary_of(name)["arms"] for found in INTERVAL.findall(row_of(arm))}
    for found in contrasts():
        known.update(INTERVAL.findall(gap(asdict(found))))

    assert [quoted for quoted in INTERVAL.findall(PAGE) if quoted not in known] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_arm_and_seed_of_the_spec_is_there(name: str) -> None:
    spec, summary = read_spec(ROOT / "experiments" / f"{name}.toml"), summary_of(name)

    assert summary["seeds"] == {arm.label: list(spec.seeds) for arm in spec.arms}
    assert summary["missing"] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_published_numbers_are_what_the_code_makes_of_the_evaluations(name: str) -> None:
    made = as_facts(published(name))

    table = (ROOT / "results" / name / "table.txt").read_text(encoding="utf-8")
    assert table == table_text(published(name)), "tables look different now: make results"
    for arm, there in zip(made["arms"], summary_of(name)["arms"], strict=True):
        for key, figure in arm.items():
            assert figure == (there[key] if isinstance(figure, str | None) else pytest.approx(there[key], abs=1e-6))


@pytest.mark.parametrize(("task", "name"), [("digits", "unequal-own-steps"), ("cifar10", "unequal-cifar10")])
def test_every_method_has_its_best_step_of_the_grid(task: str, name: str) -> None:
    """steps.csv has what each came to with each step size, under a seed that is not among the reported ones."""
    reached: dict[str, dict[float, float]] = defaultdict(dict)
    with (ROOT / "results" / "unequal" / "steps.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if line["task"] == task:
                assert int(line["seed"]) == 100
                reached[line["arm"]][float(line["step"])] = float(line["late_accuracy"])
    arms = read_spec(ROOT / "experiments" / f"{name}.toml").arms
    tried = {
        (arm.label.removesuffix(f", steps of {step:g}"), step) for arm, step in ((arm, step_of(arm)) for arm in arms)
    }

    assert {(arm, max(by_step, key=lambda step: by_step[step])) for arm, by_step in reached.items()} <= tried


def step_of(arm: Arm) -> float:
    return float(arm.setting.learning.step_size["initial"])
