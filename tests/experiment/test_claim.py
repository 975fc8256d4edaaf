"""A process that was taken for dead and works on: it notices, and harms nothing of its successor."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehfl.experiment import Outcome, execute, read_spec
from ehfl.experiment.run import folder as claims
from ehfl.experiment.run.execute import Cores
from ehfl.experiment.run.folder import claimed
from ehfl.experiment.run.inputs import inputs_of
from ehfl.experiment.spec.build import load_task
from ehfl.runs import HistoryFile, Record, RunFolder, read_history, rewind, rounds_digest

SPEC = ["learning.task=quadratic", "rounds=12", "seeds=1", "scheduler=greedy"]


def test_a_run_that_was_taken_over_stops_and_leaves_the_rest_to_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_LOOK_SECONDS", 0.0)
    (run,) = read_spec(overrides=SPEC).runs()
    folder, inputs = RunFolder(tmp_path / "run"), inputs_of(run, load_task(run.setting)[1])
    rounds = []

    def take_over_in_round_5(record: Record) -> None:
        rounds.append(record.round)
        if record.round == 5:
            claimed(folder)  # as a process on another machine does, to which locks do not reach

    first = execute(run, folder, Cores(1), inputs, take_over_in_round_5)

    assert first.error == f"{folder.path} was taken over by another process, which goes on with the run"
    assert rounds == list(range(6))
    assert folder.meta()["status"] == "running"
    assert execute(run, folder, Cores(1), inputs) == Outcome("greedy", 0)
    assert folder.finished
    assert len(folder.meta()["starts"]) == 3
    folder.check_untouched(folder.meta())


def test_what_is_written_by_whoever_was_taken_over_goes_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    records = [Record(t, 1, 0.1, 0.5, seconds=1.0) for t in range(3)]
    with HistoryFile(path) as stale:
        stale.append(records[0])
        stale.append(records[1])
        assert rewind(path, 1, rounds_digest(records[:1])) == records[:1]
        stale.append(records[2])

    assert read_history(path) == records[:1]
