"""What docs/paper.md says is what results/ holds, and that is what its rounds give."""

from __future__ import annotations

import csv
import json
import math
import runpy
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ehfl import SCHEDULERS, Bernoulli, Fleet, simulate
from ehfl.analysis import difference, estimate
from ehfl.analysis.statistics import holm
from ehfl.analysis.timing import energy_at, rounds_to
from ehfl.experiment import Spec, played_by, read_spec
from ehfl.experiment.spec.build import step_size_rule_of
from ehfl.report import as_facts
from ehfl.report.folder import table_text
from ehfl.report.write import p_value
from ehfl.scheduling import Participation

ROOT = Path(__file__).parents[1]
ROUNDS = 150
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
BEFORE, _, AFTER = PAGE.partition("## Batteries of one unit")


@dataclass(frozen=True)
class Published:
    """An experiment, what came of it, and what the page says of it."""

    spec: Spec
    summary: dict[str, Any]
    finals: dict[str, list[float]]  # the accuracy after the last round by arm, seeds ascending, from the rounds
    section: str


@pytest.fixture(scope="module", params=["paper", "paper-capacity1"])
def published(request: pytest.FixtureRequest) -> Published:
    spec = read_spec(ROOT / "experiments" / f"{request.param}.toml")
    results = ROOT / "results" / request.param
    summary = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    return Published(spec, summary, _finals(results), BEFORE if request.param == "paper" else AFTER)


def _finals(results: Path) -> dict[str, list[float]]:
    finals: dict[str, list[float]] = defaultdict(list)
    with (results / "rounds.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if int(line["round"]) == ROUNDS - 1:
                finals[line["arm"]].append(float(line["test_metric"]))
    return finals


def test_every_arm_and_seed_of_the_spec_is_there(published: Published) -> None:
    assert list(published.finals) == [arm.label for arm in published.spec.arms]
    assert all(len(mine) == len(published.spec.seeds) for mine in published.finals.values())
    assert {arm.setting.rounds for arm in published.spec.arms} == {ROUNDS}
    assert published.summary["missing"] == []


def test_the_published_numbers_are_what_the_code_makes_of_the_rounds(published: Published) -> None:
    name = published.spec.name
    comparison = runpy.run_path(str(ROOT / "results" / "redraw.py"))["published"](name)
    made = as_facts(comparison)

    table = (ROOT / "results" / name / "table.txt").read_text(encoding="utf-8")
    assert table == table_text(comparison), "tables look different now: make results"
    assert made["goal"] == pytest.approx(published.summary["goal"], abs=1e-6)
    for arm, there in zip(made["arms"], published.summary["arms"], strict=True):
        for name, figure in arm.items():
            assert figure == (there[name] if isinstance(figure, str | None) else pytest.approx(there[name], abs=1e-6))


def test_the_summary_follows_from_the_rounds(published: Published) -> None:
    first = next(iter(published.finals.values()))
    for arm in published.summary["arms"]:
        mine = estimate(published.finals[arm["arm"]])
        assert (arm["final"]["low"], arm["final"]["high"]) == pytest.approx((mine.low, mine.high))
        if arm["difference"] is not None:
            theirs = difference(published.finals[arm["arm"]], first)
            assert arm["difference"]["p_value"] == pytest.approx(theirs.p_value)
    tested = [arm["difference"] for arm in published.summary["arms"] if arm["difference"]]
    corrected = holm([found["p_value"] for found in tested])
    assert [found["holm_p_value"] for found in tested] == pytest.approx(corrected)


def test_the_page_quotes_the_summary(published: Published) -> None:
    lines = (line.split("|") for line in published.section.splitlines())
    rows = {cells[1].strip(): [cell.strip() for cell in cells] for cells in lines if len(cells) > 9}
    for arm in published.summary["arms"]:
        final, gap = arm["final"], arm["difference"]
        cells = rows[arm["arm"]]
        assert cells[2] == f"{_percent(final['mean'])} ({_percent(final['low'])} to {_percent(final['high'])})"
        assert cells[6] == f"{_percent(arm['area']['mean'])} {_ends(arm['area'], 100, 1)}"
        for cell, found in ((cells[7], arm["rounds_to_goal"]), (cells[8], arm["energy_to_goal"])):
            assert cell == f"{found['mean']:.0f} {_ends(found, 1, 0)}"
        assert cells[9] == f"{arm['participants']:.2f} ± {arm['participants_std']:.2f}"
        if gap is not None:
            ends = f"({100 * gap['low']:+.1f} to {100 * gap['high']:+.1f})"
            assert cells[3] == f"{100 * gap['mean']:+.1f} {ends}"
            assert (cells[4], cells[5]) == (p_value(gap["p_value"]), p_value(gap["holm_p_value"]))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _ends(found: dict[str, float], scale: int, digits: int) -> str:
    return f"({scale * found['low']:.{digits}f} to {scale * found['high']:.{digits}f})"


def test_the_page_quotes_the_slowdowns(published: Published) -> None:
    for arm in published.summary["arms"]:
        if arm["arm"] != published.summary["worlds"][0]["slowdowns_relative_to"]:
            measured = arm["measured_slowdown"]
            slowdowns = f"{measured['mean']:.2f} {_ends(measured, 1, 2)} | {arm['noise_limit']:.2f}"
            assert f"| {arm['arm']} | {slowdowns} |" in published.section


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
    played = [simulate(fleet, SCHEDULERS.make(scheduler), 150, seed, target=5) for seed in range(4)]
    found = estimate([getattr(one.summary(5), figure) for one in played])
    assert found.low is not None and found.high is not None

    quoted = f"{_percent(found.mean)} % ({_percent(found.low)} to {_percent(found.high)})"

    assert quoted in " ".join((AFTER if capacity == 1 else BEFORE).split())


def test_the_page_quotes_what_one_client_a_round_saves_and_costs() -> None:
    """Against Myopic, corrected for the four arms that are compared with it."""
    comparison = runpy.run_path(str(ROOT / "results" / "redraw.py"))["published"]("paper")
    first, *others = comparison.arms
    rounds = {arm.name: rounds_to(comparison.goal, arm, comparison.metric) for arm in comparison.arms}
    energy = {arm.name: energy_at(arm, rounds[arm.name]) for arm in comparison.arms}
    for values, unit in ((energy, "units"), (rounds, "rounds")):
        gaps = {arm.name: difference(values[arm.name], values[first.name]) for arm in others}
        found = gaps["round-robin:1"]
        corrected = holm([gap.p_value or 0.0 for gap in gaps.values()])[list(gaps).index("round-robin:1")]
        chance = f"p = {p_value(found.p_value)}, Holm {p_value(corrected)}".replace("p = <", "p <")

        quoted = f"{found.mean:+.0f} ({found.low:+.0f} to {found.high:+.0f}) {unit} ({chance})"
        assert quoted in " ".join(BEFORE.split())


def test_no_effect_of_the_battery_is_shown() -> None:
    finals = {name: _finals(ROOT / "results" / name) for name in ("paper-capacity1", "paper")}
    arms = ("myopic", "round-robin", "round-robin:1")
    found = [difference(finals["paper-capacity1"][arm], finals["paper"][arm]).p_value or 0.0 for arm in arms]

    assert min(holm(found)) > 0.05
    assert f"(p = {found[1]:.2f}, Holm {p_value(holm(found)[1])})" in " ".join(AFTER.split())


@pytest.mark.parametrize("arm", ["myopic", "round-robin", "round-robin:1"])
def test_the_page_quotes_what_the_battery_is_worth(arm: str) -> None:
    small, infinite = (_finals(ROOT / "results" / name)[arm] for name in ("paper-capacity1", "paper"))
    found = difference(small, infinite)
    assert found.low is not None and found.high is not None

    quoted = (
        f"{100 * found.mean:+.1f} ({100 * found.low:+.1f} to {100 * found.high:+.1f}) points (p = {found.p_value:.2f}"
    )

    assert quoted in " ".join(AFTER.split())


def test_the_specs_still_give_the_participants_and_step_sizes_of_the_results(published: Published) -> None:
    """What needs no training is computed again, round by round, for every arm and seed."""
    columns: dict[tuple[str, int], list[tuple[int, int, float]]] = defaultdict(list)
    with (ROOT / "results" / published.spec.name / "rounds.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            found = (int(line["participants"]), int(line["energy_spent"]), float(line["step_size"]))
            columns[line["arm"], int(line["seed"])].append(found)
    for run in published.spec.runs():
        played = played_by(run)
        assert isinstance(played, Participation)
        etas = step_size_rule_of(run.setting)(played.counts)
        counts, spent, steps = zip(*columns[run.arm.label, run.seed], strict=True)

        assert list(counts) == played.counts.tolist()
        assert list(spent) == played.spent.cumsum().tolist()
        assert list(steps) == pytest.approx(etas.tolist(), rel=1e-5)  # written with six digits
