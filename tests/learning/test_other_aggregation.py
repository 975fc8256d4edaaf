"""A run belongs to its aggregation: what another has remembered is never taken up, and what it has itself counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl import Participation
from ehfl.cli import main
from ehfl.experiment import make_spec, run_all
from ehfl.experiment.spec.models import Spec
from ehfl.learning import Task, train
from ehfl.learning.checkpoint import NAME, read_checkpoint
from ehfl.runs import OtherRun, Record

QUICK: dict[str, Any] = {"local_steps": 2, "batch_size": 8, "eval_every": 3, "checkpoint_every": 2, "device": "cpu"}

# One part of each memory that, set to 0, must lead elsewhere.
REMEMBERED = {
    "mifa": "memory/vectors",
    "fedvarp": "total",
    "fedau": "intervals",
    "fedawe": "models/vectors",
    "scaffold": "controls/vectors",
}


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("first", "then"), [("mifa", "scaffold"), ("scaffold", "mifa"), ("fedprox", "mean")])
def test_a_checkpoint_of_another_aggregation_is_refused(
    blobs: Task, gaps: Participation, tmp_path: Path, first: str, then: str
) -> None:
    train(blobs, gaps, **QUICK, aggregation=first, run_dir=tmp_path)
    before = files_in(tmp_path)

    with pytest.raises(OtherRun) as refused:
        train(blobs, gaps, **QUICK, aggregation=then, run_dir=tmp_path)

    message = str(refused.value)
    assert f"{NAME} belongs to another run (aggregation is {first}(" in message.lower()
    assert f" there and {then}(" in message.lower()
    assert "\n" not in message
    assert files_in(tmp_path) == before


def test_so_is_the_same_with_another_parameter(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    train(blobs, gaps, **QUICK, aggregation="mifa", run_dir=tmp_path)

    with pytest.raises(OtherRun, match=r"Mifa\(server_step=1.0\) there and Mifa\(server_step=0.5\) here"):
        train(blobs, gaps, **QUICK, aggregation={"name": "mifa", "server_step": 0.5}, run_dir=tmp_path)


def test_so_is_a_spec_that_names_another(tmp_path: Path) -> None:
    def spec(aggregation: str) -> Spec:
        arm = {"label": "one", "aggregation": aggregation}
        return make_spec({"rounds": 2, "seeds": 1, "learning": {"task": "quadratic"}, "arms": [arm]})

    run_all(spec("mifa"), tmp_path, jobs=1)
    before = files_in(tmp_path)

    there = r"one-s0 belongs to another run \(learning.aggregation.name is mifa there and scaffold here"
    with pytest.raises(OtherRun, match=there):
        run_all(spec("scaffold"), tmp_path, jobs=1)
    assert files_in(tmp_path) == before


def test_the_command_line_says_so_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = []
    for aggregation in ("mifa", "scaffold"):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(["train", "--task", "quadratic", "--rounds=2", f"--run={tmp_path}/one", "--aggregation", aggregation])
        codes.append(stopped.value.code)

    last = capsys.readouterr().err.splitlines()[-1]
    assert codes == [0, 2]
    assert last.startswith("ehfl: error: ")
    assert "is mifa there and scaffold here" in last


@pytest.mark.parametrize("name", REMEMBERED)
def test_what_it_remembers_matters(blobs: Task, gaps: Participation, tmp_path: Path, name: str) -> None:
    """Resumed from a checkpoint in which a part of it is 0, the run ends elsewhere: the state is really read."""

    def stop(record: Record) -> None:
        if record.round == 4:
            raise KeyboardInterrupt

    whole = train(blobs, gaps, **QUICK, aggregation=name)
    with pytest.raises(KeyboardInterrupt):
        train(blobs, gaps, **QUICK, aggregation=name, run_dir=tmp_path, on_round=stop)
    found = read_checkpoint(tmp_path / NAME)
    part = REMEMBERED[name]
    assert np.abs(found.state[part]).max() > 0
    replace(found, state=dict(found.state) | {part: np.zeros_like(found.state[part])}).write(tmp_path)

    again = train(blobs, gaps, **QUICK, aggregation=name, run_dir=tmp_path)

    assert again.weights.tobytes() != whole.weights.tobytes()
