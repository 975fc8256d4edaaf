"""A run's model comes back from its folder."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.nn.utils import parameters_to_vector

from ehfl import Participation, evaluate, load_model, train
from ehfl.cli import main
from ehfl.learning import Task
from ehfl.learning.checkpoint import NAME, PREVIOUS, CheckpointError
from ehfl.runs import RunFolder, read_history
from ehfl.validation import UserError

OWN_TASK = """
from pathlib import Path

from ehfl.learning.tasks.problems import ProblemTask, quadratic

Path(__file__).with_name("imported").touch()

class Hill(ProblemTask):
    def __init__(self, start: float = 3.0):
        vars(self).update(vars(quadratic()), start=start)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, as ehfl train --run and ehfl compare leave it."""
    path = tmp_path_factory.mktemp("runs") / "mine"
    with pytest.raises(SystemExit) as stop:
        main(f"train --task quadratic --rounds 12 --clients 4 --step-size 0.1 --eval-every 12 --run {path}".split())
    assert stop.value.code == 0
    return path


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copied"))


def test_the_model_of_a_run_scores_what_the_run_said(folder: Path) -> None:
    model = load_model(folder)

    last = read_history(folder / "rounds.jsonl")[-1]
    assert evaluate("quadratic", model) == (last.test_loss, last.test_metric)
    assert not model.training


def test_a_folder_of_train_has_no_spec_so_the_task_is_given(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    history = train(
        blobs, gaps, local_steps=1, batch_size=8, run_dir=tmp_path, aggregation="server_momentum:ServerMomentum"
    )

    with pytest.raises(UserError, match=r"has no spec.toml that names the task: give it, as in load_model"):
        load_model(tmp_path)
    model = load_model(str(tmp_path), blobs)

    assert parameters_to_vector(model.parameters()).detach().numpy().tobytes() == history.weights.tobytes()


def test_a_run_that_is_not_finished_gives_the_model_so_far(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(record: Any) -> None:
        if record.round == 4:
            raise Killed

    with pytest.raises(Killed):
        train(blobs, gaps, local_steps=1, batch_size=8, run_dir=tmp_path, checkpoint_every=4, on_round=kill)

    after_four = load_file(tmp_path / NAME)
    assert all(torch.equal(value, after_four[name]) for name, value in load_model(tmp_path, blobs).state_dict().items())


@pytest.mark.parametrize(
    "lost", [lambda run: (run / NAME).unlink(), lambda run: shutil.copy(run / PREVIOUS, run / NAME)]
)
def test_an_earlier_model_is_not_taken_for_a_finished_runs(copied: Path, lost: Callable[[Path], object]) -> None:
    lost(copied)

    with pytest.raises(UserError, match=rf"{NAME} (was edited|cannot be read).*: delete {copied} to run it again$"):
        load_model(copied)


def test_killed_between_two_renames_the_one_before_is_the_newest(copied: Path) -> None:
    RunFolder(copied).add_meta(status="running")
    (copied / NAME).unlink()

    assert torch.equal(next(load_model(copied).parameters()), load_file(copied / PREVIOUS)["x"])


@pytest.mark.parametrize("cut", [0, 100, -1])
def test_a_damaged_checkpoint_is_refused_in_one_line(copied: Path, cut: int) -> None:
    RunFolder(copied).add_meta(status="running")
    path = copied / NAME
    path.write_bytes(path.read_bytes()[:cut])

    with pytest.raises(UserError, match=f"{NAME} is damaged: ") as refused:
        load_model(copied)
    assert "\n" not in str(refused.value)


def test_a_checkpoint_of_another_run_is_refused(copied: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(f"train --task quadratic --rounds 12 --clients 5 --run {tmp_path / 'other'}".split())
    shutil.copy(tmp_path / "other" / NAME, copied / NAME)

    with pytest.raises(UserError, match=f"{NAME} was edited after the run ended .*: delete {copied} to run it again"):
        load_model(copied)
    RunFolder(copied).add_meta(status="running")
    with pytest.raises(UserError, match=r"belongs to another run .*fleet.clients is 5 there and 4 here"):
        load_model(copied)


def test_the_weights_of_another_model_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match=r"those of another model: 0.weight is not there and of shape \(16, 1, 3, 3\)"):
        load_model(folder, "digits")


def test_what_is_no_run_folder_is_said_to_be_none(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"has no {NAME}: give the folder of one of its runs, such as {folder}"):
        load_model(folder.parent)
    with pytest.raises(UserError, match=f"{tmp_path} has no {NAME}$"):
        load_model(tmp_path)


def test_a_task_of_ones_own_is_found_where_the_run_found_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_hill.py").write_text(OWN_TASK)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["train", "--task", "my_hill:Hill:start=2.0", "--rounds", "2", "--clients", "3", "--run", "mine"])
    assert stop.value.code == 0
    monkeypatch.chdir("/")
    (tmp_path / "imported").unlink()
    monkeypatch.delitem(sys.modules, "my_hill")

    with pytest.raises(
        UserError, match=r"got my_hill:Hill \(not imported: .* run only with load_model\(folder, trust=True\)"
    ):
        load_model(tmp_path / "mine")
    assert not (tmp_path / "imported").exists()
    assert load_model(tmp_path / "mine", trust=True).state_dict().keys() == {"x"}


def test_a_folder_whose_name_has_two_lines_is_refused_in_one(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError) as refused:
        load_model(tmp_path / "a\nb", "quadratic")

    assert str(refused.value).endswith("a\\nb has no checkpoint.safetensors")
