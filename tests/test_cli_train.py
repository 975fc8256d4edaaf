"""`ehfl train` from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ehfl.cli import main

Capture = pytest.CaptureFixture[str]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["train", "--task", "quadratic", "--step-size", "0.1", "--rounds", "12", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_train_prints_evaluations_and_goes_on_from_its_folder(tmp_path: Path, capsys: Capture) -> None:
    outputs = []
    for _ in range(2):
        assert run("--run", str(tmp_path / "r"), "--json", "--eval-every", "4") == 0
        outputs.append(json.loads(capsys.readouterr().out))

    assert outputs[0] == outputs[1]  # the timing as well: nothing was run again
    assert [line["round"] for line in outputs[0]["rounds"] if line["test_loss"] is not None] == [3, 7, 11]
    assert (tmp_path / "r" / "checkpoint.safetensors").exists()


def test_train_prints_a_table(capsys: Capture) -> None:
    assert run("--partition", "shards:2", "--weighted") == 0

    out = capsys.readouterr().out
    assert "gap" in out and "12 rounds, 1 of them empty" in out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--task digit", "did you mean digits?"),
        ("--task cifar10 --data nowhere", "nowhere"),
        ("--partition dirichlet", "--partition must be iid, dirichlet:ALPHA (> 0) or shards:N (>= 1), got dirichlet"),
        ("--partition shards:0", "--partition must be"),
        ("--step-size nominel", "--step-size must be one of"),
        ("--step-size -1", "got -1"),
        ("--device tpu", "--device must be one of auto, cpu, cuda, mps, got tpu"),
        ("--local-steps 0", "--local-steps must be a whole number >= 1, got 0"),
        ("--batch-size 0", "--batch-size must be a whole number >= 1, got 0"),
        ("--eval-every 0", "--eval-every must be"),
        ("--step-size 1e6", "diverged"),
    ],
)
def test_bad_input_is_one_line(
    options: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(*options.split()) == 2

    error = capsys.readouterr().err
    assert error.count("\n") == 1 and (told in error or (told == "diverged" and "try a smaller step size" in error))
