"""Trackers: a run for each run, its numbers by round, the page; read back from the real packages, offline."""

from __future__ import annotations

import importlib
import json
import os
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import ehfl
from ehfl import extras
from ehfl.cli import main
from ehfl.experiment import make_spec, run_all
from ehfl.runs import Facts, Record
from ehfl.tracking import STATE, Tracking, numbers_of
from ehfl.validation import InvalidValue, UserError

SPEC: dict[str, Any] = {
    "name": "tracked", "rounds": 4, "seeds": 1, "schedulers": ["always-on:1", "always-on:2"],
    "fleet": {"clients": 3}, "learning": {"task": "quadratic", "local_steps": 1}, "evaluation": {"every": 2},
}  # fmt: skip
RUNS = ["always-on-1-s0", "always-on-2-s0"]


class Notebook:
    """A tracker of the user's: it writes down what it is asked for."""

    def __init__(self, fails: str = "") -> None:
        self.fails, self.started, self.steps, self.ended = fails, [], {}, {}  # type: ignore[var-annotated]

    def start(self, project: str, name: str, parameters: Facts, earlier: str) -> str:
        self.started.append((project, name, parameters, earlier))
        self.steps.setdefault(name, [])
        return name

    def log(self, run: str, step: int, numbers: Mapping[str, float]) -> None:
        if self.fails == run and step == 2:
            raise ConnectionError("the server is gone")
        self.steps[run].append((step, numbers))

    def finish(self, run: str, page: Path | None, *, failed: bool) -> None:
        self.ended[run] = page, failed


def compared(tmp_path: Path, tracker: Any, **more: Any) -> ehfl.Comparison:
    return ehfl.compare({**SPEC, **more}, runs=tmp_path, jobs=1, track=tracker)


def test_a_round_is_a_step_and_the_first_model_is_step_0() -> None:
    first = Record(0, 2, 0.5, None, 0.25, 0.75, first_loss=1.0, first_metric=0.1)
    later = Record(7, 0, 0.0, None, None, None)

    assert list(numbers_of(first, "top 5")) == [
        (0, {"test_loss": 1.0, "test_top_5": 0.1}),
        (1, {"participants": 2.0, "step_size": 0.5, "test_loss": 0.25, "test_top_5": 0.75}),
    ]
    assert list(numbers_of(later, "top 5")) == [(8, {"participants": 0.0, "step_size": 0.0})]


def test_a_comparison_is_a_run_for_each_run(tmp_path: Path) -> None:
    notes = Notebook()
    compared(tmp_path, notes)

    assert [name for _, name, *_ in notes.started] == RUNS
    project, _, parameters, earlier = notes.started[1]
    assert (project, earlier, parameters["arm"], parameters["seed"]) == ("tracked", "", "always-on:2", 0)
    assert (parameters["fleet.clients"], parameters["learning.task.name"]) == (3, "quadratic")
    assert [step for step, _ in notes.steps[RUNS[0]]] == [0, 1, 2, 3, 4]
    assert {name for name, _ in notes.ended.items()} == set(RUNS) and not any(bad for _, bad in notes.ended.values())


def test_finished_runs_are_logged_once_also_later(tmp_path: Path) -> None:
    ehfl.compare(SPEC, runs=tmp_path, jobs=1)
    late, again = Notebook(), Notebook()
    compared(tmp_path, late)
    compared(tmp_path, again)

    assert [step for step, _ in late.steps[RUNS[1]]] == [0, 1, 2, 3, 4]
    assert again.started == []


def test_a_resumed_run_goes_on_after_what_was_logged(tmp_path: Path) -> None:
    ehfl.compare(SPEC, runs=tmp_path, jobs=1)
    state = {"Notebook": {"id": "the same", "rounds": 3}, "other": {"id": "x", "rounds": 4}}
    (tmp_path / "tracked" / RUNS[0] / STATE).write_text(json.dumps(state))
    notes = Notebook()
    notes.steps["the same"] = []
    notes.start = lambda project, name, parameters, earlier: earlier or name  # type: ignore[method-assign]
    notes.steps |= {RUNS[1]: []}
    compared(tmp_path, notes)

    assert [step for step, _ in notes.steps["the same"]] == [4]
    after = json.loads((tmp_path / "tracked" / RUNS[0] / STATE).read_text())
    assert after == {"Notebook": {"id": "the same", "rounds": 4}, "other": {"id": "x", "rounds": 4}}


def test_a_tracker_that_fails_stops_no_run_and_warns_once(tmp_path: Path) -> None:
    notes = Notebook(fails=RUNS[0])
    with pytest.warns(UserWarning, match=r"Notebook failed, and nothing more .*: ConnectionError: the server") as seen:
        found = compared(tmp_path, notes)

    assert len(seen) == 1 and not found.missing
    assert [step for step, _ in notes.steps[RUNS[0]]] == [0, 1] and RUNS[1] not in notes.steps


def test_a_run_that_fails_ends_as_failed_and_the_page_is_an_artefact(tmp_path: Path) -> None:
    notes = Notebook()
    tracking = Tracking(notes, tmp_path, "tracked", pytest.fail)
    spec = make_spec(SPEC)

    def stop(record: Record, model: object, run: Any) -> None:
        if run.arm.label == "always-on:2" and record.round == 1:
            raise ValueError("stopped here")

    run_all(spec, tmp_path / "tracked", jobs=1, on_round=stop, tracking=tracking)
    (tmp_path / "report.html").write_text("page")
    tracking.report(tmp_path / "report.html", {"rounds": 4})
    tracking.report(tmp_path / "none.html", {})

    assert notes.ended == {
        RUNS[0]: (None, False), RUNS[1]: (None, True), "report": (tmp_path / "report.html", False),
    }  # fmt: skip


def test_train_is_tracked_too_in_memory_and_in_a_folder(tmp_path: Path) -> None:
    mains = ehfl.simulate(ehfl.Fleet(clients=3, harvest=ehfl.Bernoulli(0.5)), ehfl.AlwaysOn(2), 4)
    seen: list[int] = []
    notes, kept = Notebook(), Notebook()
    ehfl.train("quadratic", mains, local_steps=1, track=notes, on_round=lambda record: seen.append(record.round))
    for _ in range(2):
        ehfl.train("quadratic", mains, local_steps=1, track=kept, run_dir=tmp_path)

    assert seen == [0, 1, 2, 3]
    assert [step for step, _ in notes.steps["quadratic-s0"]] == [0, 1, 2, 3, 4]
    assert len(kept.started) == 1 and kept.started[0][2]["local_steps"] == 1


@pytest.mark.parametrize(
    ("tracker", "error"),
    [
        ("tensorbord", r"track must be one of tensorboard, mlflow, wandb, trackio, got tensorbord"),
        (3, r"track must be one of .*, or an object with start, log and finish, got 3"),
    ],
)
def test_an_unknown_tracker_is_refused_before_anything_is_written(tracker: Any, error: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=error):
        compared(tmp_path, tracker)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["tensorboard", "mlflow", "wandb", "trackio"])
def test_a_missing_package_is_one_line_with_the_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda module: None)
    with pytest.raises(UserError, match=rf"needs {name}: pip install 'ehfl\[{name}\]'"):
        Tracking(name, tmp_path, "tracked", pytest.fail)
    monkeypatch.undo()
    with pytest.raises(SystemExit) as stop:
        main(["train", "--task", "quadratic", "--rounds", "2", "--track", "tensorbord"])
    assert stop.value.code == 2
    assert capsys.readouterr().err.strip() == (
        "ehfl: error: --track must be one of tensorboard, mlflow, wandb, trackio, got tensorbord"
    )


def tracked(name: str, tmp_path: Path) -> Path:
    """Track a comparison and a page; return where the comparison lies."""
    folder = tmp_path / "tracked"
    tracking = Tracking(name, folder, "tracked", pytest.fail)
    run_all(make_spec(SPEC), folder, jobs=1, tracking=tracking)
    (folder / "report.html").write_text("<title>page</title>")
    tracking.report(folder / "report.html", {"rounds": 4})
    return folder


def test_tensorboard_has_event_files(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    folder = tracked("tensorboard", tmp_path) / "tensorboard"

    (file,) = (folder / RUNS[0]).glob("events.*")
    events = list(EventFileLoader(str(file)).Load())
    values = [(one.step, value) for one in events for value in one.summary.value]
    losses = [(step, value.tensor.float_val[0]) for step, value in values if value.tag == "test_loss"]
    assert [step for step, _ in losses] == [0, 2, 4] and losses[0][1] > losses[2][1] > 0
    (text,) = [value.tensor.string_val[0].decode() for _, value in values if value.tag == "parameters"]
    assert "| learning.task.name | quadratic |" in text
    assert (folder / "report" / "report.html").read_text() == "<title>page</title>"


@pytest.mark.filterwarnings("ignore")
def test_mlflow_has_runs_in_its_file_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # which MLflow 3 asks for
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    tracked("mlflow", tmp_path)

    client = MlflowClient()
    experiment = client.get_experiment_by_name("tracked")
    assert experiment is not None
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert set(runs) == {*RUNS, "report"} and {run.info.status for run in runs.values()} == {"FINISHED"}
    assert runs[RUNS[0]].data.params["fleet.clients"] == "3"
    history = client.get_metric_history(runs[RUNS[0]].info.run_id, "test_loss")
    assert [one.step for one in history] == [0, 2, 4] and history[0].value > history[2].value
    assert [one.path for one in client.list_artifacts(runs["report"].info.run_id)] == ["report.html"]


def wandb_records(content: bytes) -> Iterator[bytes]:
    """Yield the records of a .wandb file: LevelDB's log, blocks of 32 kB, pieces with checksum, length and kind."""
    at, whole = 7, b""
    while at + 7 <= len(content):
        if at % 32768 > 32768 - 7:  # too little room for a piece: zeros
            at += 32768 - at % 32768
            continue
        length, kind = struct.unpack("<HB", content[at + 4 : at + 7])
        whole, at = whole + content[at + 7 : at + 7 + length], at + 7 + length
        if kind in (1, 4):  # a whole record, or its last piece
            yield whole
            whole = b""


@pytest.mark.filterwarnings("ignore")
def test_wandb_writes_offline_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    import wandb

    written = importlib.import_module("wandb.proto.wandb_internal_pb2").Record
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.chdir(tmp_path)
    tracked("wandb", tmp_path)
    wandb.teardown()  # its service may still write

    found: dict[str, list[Any]] = {}
    for file in tmp_path.glob("wandb/offline-run-*/*.wandb"):
        records = [written.FromString(one) for one in wandb_records(file.read_bytes())]
        (name,) = [one.run.display_name for one in records if one.WhichOneof("record_type") == "run"][:1]
        found[name] = records
    assert set(found) == {*RUNS, "report"}
    steps = [{item.key or item.nested_key[0]: json.loads(item.value_json) for item in one.history.item}
             for one in found[RUNS[0]] if one.WhichOneof("record_type") == "history"]  # fmt: skip
    assert [one["_step"] for one in steps] == [0, 1, 2, 3, 4] and steps[0]["test_loss"] > steps[4]["test_loss"]
    assert any(b"report.html" in one.SerializeToString() for one in found["report"])


def test_trackio_has_runs_in_its_local_database(tmp_path: Path) -> None:
    pytest.importorskip("trackio")
    here, place = str(Path(__file__).parent), str(tmp_path)
    code = f"import sys, pathlib; sys.path.append({here!r}); import test_tracking as made; "
    code += f"made.tracked('trackio', pathlib.Path({place!r}))"
    # In a process of its own: Trackio reads where its database lies when it is imported.
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"TRACKIO_DIR": place}, check=True, timeout=120)

    with closing(sqlite3.connect(tmp_path / "tracked.db")) as database:
        rows = list(database.execute("select step, metrics from metrics where run_name = ? order by step", RUNS[:1]))
        parameters = dict(database.execute("select run_name, config from configs"))
        pages = list(database.execute("select manifest from artifact_versions where producer_run_name = 'report'"))
    assert [step for step, _ in rows] == [0, 1, 2, 3, 4]
    assert json.loads(rows[0][1])["test_loss"] > json.loads(rows[4][1])["test_loss"]
    assert json.loads(parameters[RUNS[1]])["learning.task.name"] == "quadratic"
    assert "report.html" in str(pages)
