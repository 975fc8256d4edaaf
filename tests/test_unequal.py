"""What docs/unequal.md says is what results/ holds, and that is what its evaluations give."""

from __future__ import annotations

import csv
import json
import re
import runpy
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ehfl.analysis import Comparison, Difference, difference
from ehfl.analysis.served import final_by_class
from ehfl.analysis.statistics import holm
from ehfl.arrays import FloatArray
from ehfl.experiment import Arm, read_spec
from ehfl.report import as_facts
from ehfl.report.folder import table_text
from ehfl.report.write import p_value

ROOT = Path(__file__).parents[1]
PAGE = " ".join((ROOT / "docs" / "unequal.md").read_text(encoding="utf-8").split())
NAMES = ("unequal", "unequal-own-steps", "unequal-scarce", "unequal-scarce-longer-steps", "unequal-cifar10")
INTERVAL = re.compile(r"[+-]?\d+\.\d \([+-]?\d+\.\d to [+-]?\d+\.\d\)")
CLAIMED = re.compile(rf"({INTERVAL.pattern})(?: points)?,(?: p [=<] [0-9.]+,)? Holm (< 0\.001|[0-9.]*[0-9])")
SAME, OWN, CIFAR = "unequal", "unequal-own-steps", "unequal-cifar10"
# The claim, the table, the two arms: differences that the page quotes beyond those to a table's first arm.
CONTRASTS = (
    ("1", CIFAR, "mifa, steps of 0.1", "mean, steps of 0.1"),
    ("3", SAME, "greedy, fedau", "greedy, inverse-probability"),
    ("3", OWN, "greedy, fedau", "greedy, inverse-probability"),
    ("3", CIFAR, "fedau", "inverse-probability"),
    ("5", SAME, "greedy, mifa", "greedy, fedvarp"),
    ("5", OWN, "greedy, mifa", "greedy, fedvarp"),
    ("5", CIFAR, "mifa, steps of 0.1", "fedvarp"),
    ("5", CIFAR, "fedvarp", "mean, steps of 0.1"),
    ("6", SAME, "greedy, scaffold", "greedy, mifa"),
    ("6", OWN, "greedy, scaffold", "greedy, mifa"),
    ("6", CIFAR, "scaffold, steps of 0.025", "mean, steps of 0.1"),
    ("9", SAME, "myopic, mifa", "greedy, mifa"),
    ("9", SAME, "f3ast, scheduled", "greedy, inverse-probability"),
    ("9", SAME, "energy-cycles, scheduled", "greedy, inverse-probability"),
)


@cache
def published(name: str) -> Comparison:
    found: Comparison = runpy.run_path(str(ROOT / "results" / "redraw.py"))["published"](name)
    return found


@cache
def summary_of(name: str) -> dict[str, Any]:
    return dict(json.loads((ROOT / "results" / name / "summary.json").read_text(encoding="utf-8")))


def row_of(arm: dict[str, Any]) -> str:
    """Return an arm's line of the page's table."""
    served = f"{ends(arm['worst_class'])} | {gap(arm['worst_class_difference'])}"
    return f"| {arm['arm']} | {ends(arm['final'])} | {gap(arm['difference'])} | {served} |"


def ends(found: dict[str, float]) -> str:
    low, high = max(found["low"], 0), min(found["high"], 1)  # of shares, where Student's t knows no bounds
    return f"{100 * found['mean']:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def gap(found: dict[str, float] | None) -> str:
    if found is None:
        return ""
    means = f"{100 * found['mean']:+.1f} ({100 * found['low']:+.1f} to {100 * found['high']:+.1f})"
    return f"{means}, p = {p_value(found['p_value'])}, Holm {p_value(found['holm_p_value'])}".replace("p = <", "p <")


def finals(name: str, arm: str) -> tuple[FloatArray, FloatArray]:
    """Return the accuracy and that of the worst class after the last round, each (n_seeds,)."""
    found = published(name).arm(arm)
    by_class = final_by_class(found)
    assert by_class is not None
    return found.metric[:, -1], by_class.min(axis=1)


def contrasts() -> Iterator[tuple[str, str, Difference]]:
    """Yield the claim, the words and the difference of what the page compares beyond its tables, corrected for all."""
    found = sorted([*_between_arms(), *_between_levels()], key=lambda one: one[0])
    corrected = holm([1.0 if gap.p_value is None else gap.p_value for _, _, gap in found])
    for (claim, words, gap), p in zip(found, corrected, strict=True):
        yield claim, words, replace(gap, holm_p_value=p)


def _between_arms() -> Iterator[tuple[str, str, Difference]]:
    for claim, name, one, other in CONTRASTS:
        mine, theirs = finals(name, one), finals(name, other)
        yield claim, f"{name}: `{one}` minus `{other}`", difference(mine[0], theirs[0])
        if claim == "1":
            yield claim, f"{name}: `{one}` minus `{other}`, worst class", difference(mine[1], theirs[1])


def _between_levels() -> Iterator[tuple[str, str, Difference]]:
    """Yield by how much more an arm gains on the mean with a fifth of the energy than with half."""
    for method in ("mifa", "fedvarp"):
        for name in ("unequal-scarce", "unequal-scarce-longer-steps"):
            fifth, half = (
                finals(name, f"{level}: {method}")[0] - finals(name, f"{level}: mean")[0]
                for level in ("A fifth", "Half")
            )
            yield (
                "2",
                f"{name}: `{method}` minus `mean`, with a fifth of the energy minus with half",
                difference(fifth, half),
            )


def contrast_rows() -> list[str]:
    return [f"| {claim} | {words} | {gap(asdict(found))} |" for claim, words, found in contrasts()]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_quotes_every_arm(name: str) -> None:
    for arm in summary_of(name)["arms"]:
        assert " ".join(row_of(arm).split()) in PAGE


def test_the_page_quotes_every_other_difference() -> None:
    for row in contrast_rows():
        assert row in PAGE


def test_every_interval_and_corrected_p_value_on_the_page_comes_from_the_results() -> None:
    gaps = [gap(asdict(found)) for _, _, found in contrasts()]
    intervals = {quoted for made in gaps for quoted in INTERVAL.findall(made)}
    for arm in (arm for name in NAMES for arm in summary_of(name)["arms"]):
        intervals.update(INTERVAL.findall(row_of(arm)))
        gaps += [gap(arm[key]) for key in ("difference", "worst_class_difference")]
    known = {(made.partition(",")[0], made.partition("Holm ")[2]) for made in gaps}

    assert [quoted for quoted in INTERVAL.findall(PAGE) if quoted not in intervals] == []
    assert len(CLAIMED.findall(PAGE)) > 80
    assert [quoted for quoted in CLAIMED.findall(PAGE) if quoted not in known] == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("key", "place"), [("difference", 0), ("worst_class_difference", 1)])
def test_the_corrected_p_values_follow_from_the_evaluations(name: str, key: str, place: int) -> None:
    """Holm's correction is computed here from its definition, over all differences of a table's column."""
    found = {arm["arm"]: arm[key] for arm in summary_of(name)["arms"] if arm[key]}
    first = {label: world["arms"][0] for world in summary_of(name)["worlds"] for label in world["arms"]}
    raw = {arm: difference(finals(name, arm)[place], finals(name, first[arm])[place]).p_value for arm in found}
    ascending = sorted(raw.items(), key=lambda one: one[1] or 0.0)
    largest = 0.0
    for rank, (arm, p) in enumerate(ascending):
        assert p is not None
        largest = max(largest, min(1.0, (len(ascending) - rank) * p))
        assert found[arm]["p_value"] == pytest.approx(p, rel=1e-6)
        assert found[arm]["holm_p_value"] == pytest.approx(largest, rel=1e-6)


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
