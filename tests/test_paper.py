"""What docs/paper.md says is what results/paper holds, and that is what its rounds give."""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ehfl import Bernoulli, Fleet, make_policy, simulate
from ehfl.experiment import difference, estimate, read_spec

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "paper"
SUMMARY: dict[str, Any] = json.loads((RESULTS / "summary.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def finals() -> dict[str, list[float]]:
    """The accuracy after the last round by arm, seeds ascending, from the rounds themselves."""
    found: dict[str, list[float]] = defaultdict(list)
    with (RESULTS / "rounds.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if int(line["round"]) == read_spec(ROOT / "experiments" / "paper.toml").rounds - 1:
                found[line["arm"]].append(float(line["test_metric"]))
    return found


def test_every_arm_and_seed_of_the_spec_is_there(finals: dict[str, list[float]]) -> None:
    spec = read_spec(ROOT / "experiments" / "paper.toml")

    assert list(finals) == [arm.label for arm in spec.schedulers]
    assert all(len(mine) == len(spec.seeds) for mine in finals.values())
    assert SUMMARY["missing"] == []


def test_the_summary_follows_from_the_rounds(finals: dict[str, list[float]]) -> None:
    first = next(iter(finals.values()))
    for arm in SUMMARY["arms"]:
        mine = estimate(finals[arm["arm"]])
        assert (arm["final"]["low"], arm["final"]["high"]) == pytest.approx((mine.low, mine.high))
        if arm["difference"] is not None:
            assert arm["difference"]["p_value"] == pytest.approx(difference(finals[arm["arm"]], first).p_value)


def test_the_page_quotes_the_summary() -> None:
    rows = {cells[1].strip(): cells for cells in (line.split("|") for line in PAGE.splitlines()) if len(cells) > 8}
    for arm in SUMMARY["arms"]:
        final, gap = arm["final"], arm["difference"]
        cells = [cell.strip() for cell in rows[arm["arm"]]]
        assert cells[2] == f"{_percent(final['mean'])} ({_percent(final['low'])} to {_percent(final['high'])})"
        if gap is not None:
            assert cells[3] == " ".join(
                [f"{100 * gap['mean']:+.1f}", f"({100 * gap['low']:+.1f}", "to", f"{100 * gap['high']:+.1f})"]
            )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def test_the_page_quotes_the_slowdowns() -> None:
    for arm in SUMMARY["arms"]:
        if arm["arm"] != SUMMARY["slowdowns_relative_to"]:
            found = arm["measured_slowdown"]
            measured = f"{found['mean']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
            row = f"| {arm['arm']} | {measured} | {arm['noise_limit']:.2f} | {arm['predicted_slowdown']:.2f} |"
            assert row in PAGE


@pytest.mark.parametrize(
    ("capacity", "scheduler", "figure"),
    [
        (math.inf, "myopic", "on_target"),
        (math.inf, "round-robin", "on_target"),
        (math.inf, "greedy", "on_target"),
        (1, "myopic", "on_target"),
        (1, "myopic", "waste"),
        (1, "round-robin", "on_target"),
        (1, "round-robin", "waste"),
    ],
)
def test_the_page_quotes_what_the_simulation_gives(capacity: float, scheduler: str, figure: str) -> None:
    fleet = Fleet(10, Bernoulli(0.5), capacity=capacity)
    shares = [getattr(simulate(fleet, make_policy(scheduler, 5), 150, seed).summary(5), figure) for seed in range(4)]
    found = estimate(shares)
    assert found.low is not None and found.high is not None

    quoted = f"{_percent(found.mean)} % ({_percent(found.low)} to {_percent(found.high)})"

    assert quoted in " ".join(PAGE.split())
