"""Runs on devices that go dark, stay silent and send rubbish, from the first message to the page; no Flower process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from ehfl.analysis import read_results
from ehfl.analysis.devices import State
from ehfl.experiment import make_spec, run_all
from ehfl.files import digest_of_file
from ehfl.history import Devices, HistoryFile, Record, read_history
from ehfl.report import write_report
from ehfl.run_folder import RunFolder
from ehfl.validation import UserError

pytest.importorskip("flwr", reason="no Flower: pip install 'ehfl[flower]'")
from flwr.app import RecordDict

from ehfl.flower.client import Node, report, trained
from ehfl.flower.exchange import Exchange, Reply
from ehfl.flower.messages import Request
from ehfl.flower.server import play_on_devices
from ehfl.flower.setting_out import for_flower

FACTS: dict[str, Any] = {
    "name": "small",
    "rounds": 6,
    "seeds": 1,
    "schedulers": ["greedy"],
    "fleet": {"clients": 4, "rate": 1.0, "capacity": 2, "initial": 1},
    "learning": {"task": "quadratic", "local_steps": 2, "batch_size": 10, "step_size": 0.2, "device": "cpu"},
    "evaluation": {"every": 2},
}
# What goes wrong, a letter a client: "." is dark, "S" trains and is not heard, "N" sends no numbers.
FAULTS = ["    ", " S. ", " ...", "   .", "N  .", "  . "]


@dataclass(frozen=True)
class Connected:
    node_id: int


@dataclass(frozen=True)
class FaultyNodes:
    """Nodes in this process, in the place of an exchange of messages; node 10 + i is client i."""

    state: Path
    faults: list[str]

    def nodes(self) -> list[Connected]:
        return [Connected(10 + client) for client in range(4)]

    def ask(self, kind: str, contents: Mapping[int, RecordDict], deadline: float, group: str) -> Iterator[Reply]:
        for node, content in contents.items():
            client = node - 10
            fault = self.faults[int(group)][client] if int(group) < len(self.faults) else " "
            if fault == ".":
                yield Reply(node, None, "no reply in 60 s")
                continue
            answer = (report if kind == "query" else trained)(
                Request.read(content), Node(client, self.state / str(client))
            )
            if fault == "N" and answer.weights is not None:
                answer = replace(answer, weights=answer.weights * np.float32(np.nan))
            silent = fault == "S" and kind == "train"
            yield Reply(node, None, "no reply in 60 s") if silent else Reply(node, answer.content())


def played(place: Path, faults: list[str]) -> Path:
    exchange = cast(Exchange, FaultyNodes(place / "nodes", faults))
    (outcome,) = run_all(
        for_flower(make_spec(FACTS)), place / "small-flower", play=partial(play_on_devices, exchange=exchange)
    )
    assert outcome.error is None
    return place / "small-flower"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("runs"), FAULTS)


def rewritten(folder: Path, place: Path, change: Callable[[list[Record]], list[Record]]) -> Path:
    """Return a copy of the run whose rounds were changed by somebody who knows how digests are made."""
    copy = shutil.copytree(folder, place / "copy")
    run = RunFolder(copy / "greedy-on-flower-s0")
    records = change(read_history(run.rounds))
    run.rounds.unlink()
    with HistoryFile(run.rounds) as file:
        for record in records:
            file.append(record)
    run.add_meta(digests=run._digests(digest_of_file(run.rounds)))
    return copy


def test_what_the_server_saw_is_read_back(folder: Path) -> None:
    (trial,) = read_results([folder]).comparison.arms[0].trials
    log = trial.devices

    assert log is not None
    states = {"T": State.TOOK_PART, "L": State.LOST, ".": State.DARK}
    assert log.states.tolist() == [[states[x] for x in row] for row in ("TTTT", "TL.T", "T...", "TTT.", "LTT.", "TT.T")]
    assert [(device.online, device.took_part, device.losses) for device in log.devices] == [
        (6, 5, 1), (5, 4, 1), (3, 3, 0), (3, 3, 0)
    ]  # fmt: skip
    assert list(log.reasons) == ["a model or a loss that is not finite", "no reply in 60 s"]
    assert log.wasted_energy == 2  # both had paid
    assert [device.last_heard for device in log.devices] == [5, 5, 4, 5]


def test_the_report_has_table_sentence_and_facts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ehfl.report.writing.draw_all", lambda *_: ())  # which takes most of the time
    page = write_report(read_results([folder]), folder, ["ehfl flower up"]).read_text(encoding="utf-8")

    assert '<h2 id="devices">' in page
    assert "2 of 17 updates asked for were lost" in (folder / "table.txt").read_text(encoding="utf-8")
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8"))["devices"][0]["lost"] == 2


def test_a_round_that_was_paid_for_and_lost_whole_does_not_cost_the_run(tmp_path: Path) -> None:
    log = read_results([played(tmp_path, ["    ", "NNNN", "SSSS", "    "])]).comparison.arms[0].trials[0].devices

    assert log is not None
    assert (log.lost, log.wasted_energy) == (8, 8)


CHANGES: dict[str, Callable[[list[Record]], list[Record]]] = {
    "devices in some rounds alone": lambda records: [replace(records[0], devices=None), *records[1:]],
    "others took part": lambda records: [
        replace(record, devices=Devices((1, 1, 1, None), (0, 1), {}, (9,) * 4)) if record.round == 4 else record
        for record in records
    ],
    "fewer devices": lambda records: [
        replace(record, devices=Devices((1, None, None), (0,), {}, (9,) * 3)) if record.round == 2 else record
        for record in records
    ],
}


@pytest.mark.parametrize("name", CHANGES)
def test_rounds_that_do_not_fit_the_participation_are_refused(folder: Path, tmp_path: Path, name: str) -> None:
    changed = rewritten(folder, tmp_path, CHANGES[name])

    with pytest.raises(UserError, match="does not fit"):
        read_results([changed])
