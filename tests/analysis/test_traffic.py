"""What turns send, counted: in rows, tables and sentences, and from run folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import ehfl
from ehfl.analysis import Comparison, compare
from ehfl.report import as_facts
from ehfl.report.tables.comparison import quantities
from ehfl.report.write import DASH
from ehfl.runs import RunFolder, Traffic
from ehfl.validation import InvalidValue, UserError
from made_trials import ACCURACY, made_trial

ONE, TWO = Traffic(250_000), Traffic(250_000, down=2, up=2)  # of a megabyte each


def arms(sent: Mapping[str, Traffic | None]) -> Comparison:
    """Return arms with seeds of 6 and 8 turns whose turns send this."""
    trials = [
        replace(made_trial(arm, seed, [0.5, 0.6], counts), traffic=traffic)
        for arm, traffic in sent.items()
        for seed, counts in enumerate([(2, 4), (0, 8)])
    ]
    return compare("made", trials, ACCURACY, target=2)


def lines(comparison: Comparison) -> dict[str, list[str]]:
    return {line.label: [line.cell(row).text for row in comparison.rows] for line in quantities(comparison)}


def test_the_mean_over_seeds_of_models_times_weights_times_four_bytes() -> None:
    found = arms({"mean": ONE, "scaffold": TWO, "own": Traffic(250_000, down=1, up=0)})

    assert [(row.downloaded, row.uploaded) for row in found.rows] == [(7, 7), (14, 14), (7, 0)]
    assert lines(found)["uploaded [MB]"] == ["7", "14", "0"]
    assert lines(found)["downloaded [MB]"] == ["7", "14", "7"]
    assert [row["uploaded"] for row in as_facts(found)["arms"]] == [7, 14, 0]
    assert found.frame()["downloaded"].tolist() == [7, 14, 7]


def test_the_table_leaves_it_out_where_participants_say_it_all() -> None:
    assert "uploaded [MB]" not in lines(arms({"mean": ONE, "mifa": ONE}))
    assert "uploaded [MB]" not in lines(arms({"mean": None, "mifa": None}))
    assert lines(arms({"scaffold": TWO}))["uploaded [MB]"] == ["14"]
    assert lines(arms({"mean": ONE, "small": Traffic(125_000)}))["uploaded [MB]"] == ["7", "3.50"]


def test_a_run_of_an_older_version_has_a_dash() -> None:
    found = arms({"old": None, "scaffold": TWO})

    assert lines(found)["uploaded [MB]"] == [DASH, "14"]
    assert found.frame()["uploaded"].isna().tolist() == [True, False]


def test_runs_leave_what_they_sent_in_their_folders(tmp_path: Path) -> None:
    facts = {
        "name": "sent", "rounds": 4, "seeds": 1, "scheduler": "greedy", "fleet": {"clients": 2, "rate": 1.0},
        "learning": {"task": "quadratic", "step_size": 0.01, "batch_size": 2},
        "arms": [{"label": name, "learning": {"aggregation": name}} for name in ("mean", "scaffold")],
    }  # fmt: skip

    found = ehfl.compare(facts, runs=tmp_path, jobs=1)

    # In three rounds of two clients, which begin with empty batteries; a quadratic has 20 weights.
    assert [row.uploaded for row in found.rows] == [6 * 20 * 4 / 1e6, 2 * 6 * 20 * 4 / 1e6]
    meta = RunFolder(tmp_path / "sent" / "scaffold-s0").meta()
    assert (meta["model_weights"], meta["models_down"], meta["models_up"]) == (20, 2, 2)


def test_figures_that_cannot_be_are_refused(tmp_path: Path) -> None:
    facts = {"name": "sent", "rounds": 2, "seeds": 1, "fleet": {"clients": 2, "rate": 1.0},
             "learning": {"task": "quadratic", "step_size": 0.01}}  # fmt: skip
    ehfl.compare(facts, runs=tmp_path, jobs=1)
    folder = next((tmp_path / "sent").glob("*-s0"))
    RunFolder(folder).add_meta(models_up="two")

    with pytest.raises(UserError, match=r"models_up must be a whole number >= 0, got 'two': delete .* to run it again"):
        ehfl.read(tmp_path / "sent")
    with pytest.raises(InvalidValue, match="models_down must be a whole number >= 0, got -1"):
        Traffic(5, down=-1)
    assert Traffic.read(json.loads(json.dumps(TWO.facts()))) == TWO
