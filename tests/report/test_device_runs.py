"""Runs on devices that go dark, stay silent and send rubbish, from the first message to the page; no Flower process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ehfl.analysis import read
from ehfl.analysis.devices import DeviceState
from ehfl.report import write_report

pytest.importorskip("flwr", reason="no Flower: pip install 'ehfl[flower]'")
from ehfl.flower.app.specs import for_flower
from loopback_grid import Asked, Delivery, honest, loopback, play, silent, tiny, with_model

pytestmark = pytest.mark.usefixtures("in_server", "no_fsync")

SPEC = tiny(
    scheduler="greedy", seeds=[0], fleet={"rate": 1.0, "capacity": 2, "initial": 1}, learning={"step_size": 0.2}
)
# What goes wrong in a round, a letter a client: "." is dark, "S" trains and is not heard, "N" sends no numbers.
FAULTS = ["    ", " S. ", " ...", "   .", "N  .", "  . "]


def played(place: Path, faults: list[str] = FAULTS) -> Path:
    """Return the folder of an experiment whose only run was played on such nodes."""

    def behave(asked: Asked) -> list[Delivery]:
        fault = faults[asked.round][asked.client] if asked.round < len(faults) else " "
        if fault == ".":
            return []
        if fault == " " or asked.kind == "query":
            return honest(asked)
        return silent(asked) if fault == "S" else with_model(lambda weights: weights * np.float32(np.nan))(asked)

    left = play(for_flower(SPEC), place / "tiny-flower", loopback(place / "nodes", 4, behave))
    assert left.outcome.error is None
    return place / "tiny-flower"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return played(tmp_path)


def test_what_the_server_saw_is_read_back(folder: Path) -> None:
    (trial,) = read(folder).arms[0].trials
    log = trial.devices

    assert log is not None
    states = {"T": DeviceState.TOOK_PART, "L": DeviceState.LOST, ".": DeviceState.DARK}
    assert log.states.tolist() == [[states[x] for x in row] for row in ("TTTT", "TL.T", "T...", "TTT.", "LTT.", "TT.T")]
    assert [(device.online, device.took_part, device.losses) for device in log.devices] == [
        (6, 5, 1), (5, 4, 1), (3, 3, 0), (3, 3, 0)
    ]  # fmt: skip
    assert list(log.reasons) == ["a model or a loss that is not finite", "no reply in 5 s"]
    assert log.wasted_energy == 2  # both had paid
    assert [device.last_heard for device in log.devices] == [5, 5, 4, 5]


def test_the_report_has_table_sentence_and_facts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ehfl.report.figures.comparison.draw_all", lambda *_: ())  # which takes most of the time
    page = write_report(read(folder), folder, ["ehfl flower up"]).read_text(encoding="utf-8")

    assert '<h2 id="devices">' in page
    assert "2 of 17 updates asked for were lost" in (folder / "table.txt").read_text(encoding="utf-8")
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8"))["devices"][0]["lost"] == 2


def test_a_round_that_was_paid_for_and_lost_whole_does_not_cost_the_run(tmp_path: Path) -> None:
    log = read(played(tmp_path, ["    ", "NNNN", "SSSS", "    "])).arms[0].trials[0].devices

    assert log is not None
    assert (log.lost, log.wasted_energy) == (8, 8)
