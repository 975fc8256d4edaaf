"""Small text: numbers go into files as they are."""

from __future__ import annotations

import csv
import io
import json

import pytest

from ehfl.analysis import compare
from ehfl.files import json_text
from ehfl.report.folder import as_facts, rounds_csv, table_text
from ehfl.runs import Metric
from made_trials import ACCURACY, made_trial, two_arms


def test_every_round_has_a_line_and_its_energy() -> None:
    trials = [made_trial("=a, b", 3, {2: 0.5}, [2, 1], cost=3), made_trial("c", 3, {2: 0.25}, [0, 1])]

    lines = list(csv.DictReader(io.StringIO(rounds_csv(compare("x", trials, ACCURACY, 1)))))

    assert [line["arm"] for line in lines] == ["'=a, b", "'=a, b", "c", "c"]
    assert [line["energy_spent"] for line in lines] == ["6", "9", "0", "1"]
    assert [line["test_metric"] for line in lines] == ["", "0.5", "", "0.25"]


@pytest.mark.parametrize("label", ["=cmd|' /C calc'!A0", "+1", "-50 %", "@SUM(A1)"])
def test_no_label_is_run_by_a_spreadsheet(label: str) -> None:
    text = rounds_csv(compare("x", [made_trial(label, 3, {1: 0.5}, [2])], ACCURACY, 1))

    assert next(csv.DictReader(io.StringIO(text)))["arm"] == f"'{label}"


def test_the_first_models_values_stand_in_the_line_of_the_first_round() -> None:
    trial = made_trial("a", 0, {0: 0.125, 1: 0.25, 2: 0.5}, [1, 1])

    lines = list(csv.DictReader(io.StringIO(rounds_csv(compare("x", [trial], ACCURACY, 1)))))

    assert [(line["round"], line["first_loss"], line["first_metric"]) for line in lines] == [
        ("0", "0.875", "0.125"), ("1", "", "")]  # fmt: skip


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
