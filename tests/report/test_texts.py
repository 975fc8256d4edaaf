"""Small text: what was published can be written again, and numbers go into files as they are."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from ehfl.analysis import Comparison, Difference, Estimate, Row, Trial, compare
from ehfl.files import json_text
from ehfl.history import Metric, Record
from ehfl.report.texts import as_facts, rounds_csv, table_text
from made_trials import ACCURACY, made_participation, made_trial, two_arms

RESULTS = Path(__file__).parents[2] / "results"
SHARED = "All arms met the same weather, data and first model, seed by seed."  # which was not said at that time


def published(name: str) -> Comparison:
    """Return a published comparison: its curves from rounds.csv, its figures from summary.json."""
    facts = json.loads((RESULTS / name / "summary.json").read_text(encoding="utf-8"))
    trials = list(published_trials(RESULTS / name / "rounds.csv"))
    arms = compare(name, trials, ACCURACY, facts["target"]).arms
    rows = tuple(published_row(arm) for arm in facts["arms"])
    best = facts["slowdowns_relative_to"]
    return Comparison(name, ACCURACY, arms, facts["goal"], facts["target"], best, rows)


def published_trials(path: Path) -> Iterator[Trial]:
    with path.open(encoding="utf-8") as file:
        for (arm, seed), found in groupby(csv.DictReader(file), key=lambda line: (line["arm"], line["seed"])):
            lines = list(found)
            records = [_record(line) for line in lines]
            yield Trial(arm, int(seed), made_participation([record.participants for record in records]), records)


def _record(line: dict[str, str]) -> Record:
    train_loss, test_loss, test_metric = (
        float(line[name]) if line[name] else None for name in ("train_loss", "test_loss", "test_metric")
    )
    played = int(line["round"]), int(line["participants"]), float(line["step_size"])
    return Record(*played, train_loss, test_loss, test_metric)


def published_row(facts: dict[str, Any]) -> Row:
    made = dict(facts)
    for name, found in facts.items():
        if isinstance(found, dict):
            made[name] = Difference(**found) if "p_value" in found else Estimate(**found)
    return Row(**made)


@pytest.mark.parametrize("name", ["paper", "paper-capacity1"])
def test_what_was_published_is_written_again(name: str) -> None:
    lines = table_text(published(name)).splitlines()

    assert lines.count(SHARED) == 1
    lines.remove(SHARED)
    assert lines == (RESULTS / name / "table.txt").read_text(encoding="utf-8").splitlines()


def test_every_round_has_a_line_and_its_energy() -> None:
    trials = [made_trial("=a, b", 3, {2: 0.5}, [2, 1], cost=3), made_trial("c", 3, {2: 0.25}, [0, 1])]

    lines = list(csv.DictReader(io.StringIO(rounds_csv(compare("x", trials, ACCURACY, 1)))))

    assert [line["arm"] for line in lines] == ["=a, b", "=a, b", "c", "c"]
    assert [line["energy_spent"] for line in lines] == ["6", "9", "0", "1"]
    assert [line["test_metric"] for line in lines] == ["", "0.5", "", "0.25"]


def test_facts_are_ready_for_json() -> None:
    facts = json.loads(json_text(as_facts(two_arms(unit="mJ"))))

    assert facts["unit"] == "mJ"
    assert facts["shared"] == ["weather", "data", "first model"]
    assert facts["metric"] == {"name": "accuracy", "lower_is_better": False, "bounds": [0, 1]}
    assert [arm["arm"] for arm in facts["arms"]] == ["greedy", "myopic"]
    assert facts["arms"][1]["difference"]["mean"] == pytest.approx(0.06)


def test_a_table_of_another_metric_and_unit() -> None:
    text = table_text(two_arms(metric=Metric("score [F1]"), unit="mJ [u]"))

    assert "final score [F1]" in text
    assert "energy to goal [mJ [u]]" in text
