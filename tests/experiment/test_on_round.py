"""on_round: called after every round where it is trained, with as much of record, model and run as it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import ehfl
from ehfl.learning import train
from ehfl.runs import Record
from ehfl.validation import UserError

QUICK: dict[str, Any] = {"local_steps": 1, "batch_size": 8}
SPEC: dict[str, Any] = {
    "name": "hooked", "rounds": 3, "seeds": 1, "schedulers": ["always-on:1", "always-on:2"],
    "fleet": {"clients": 3}, "learning": {"task": "quadratic", "local_steps": 1},
}  # fmt: skip


def mains(rounds: int = 3) -> ehfl.Participation:
    return ehfl.simulate(ehfl.Fleet(clients=3, harvest=ehfl.Bernoulli(0.5)), ehfl.AlwaysOn(2), rounds)


def test_it_gets_the_record_and_the_model_of_every_round() -> None:
    seen: list[tuple[int, torch.Tensor]] = []

    def look(record: Record, model: torch.nn.Module) -> None:
        seen.append((record.round, next(model.parameters()).detach().clone()))

    history = train("quadratic", mains(), **QUICK, on_round=look)

    assert [t for t, _ in seen] == [0, 1, 2]
    assert torch.equal(seen[-1][1], torch.from_numpy(history.weights))


def test_a_hook_that_changes_the_model_ends_the_run() -> None:
    def spoil(record: Record, model: torch.nn.Module) -> None:
        with torch.no_grad():
            next(model.parameters()).zero_()

    with pytest.raises(UserError, match="on_round must not change the model"):
        train("quadratic", mains(), **QUICK, on_round=spoil)


@pytest.mark.parametrize("jobs", [1, 2])
def test_in_a_comparison_it_knows_the_run_and_works_in_its_process(jobs: int, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()

    def note(record: Record, model: torch.nn.Module, run: ehfl.experiment.Run) -> None:
        with (notes / f"{run.arm.label}-{run.seed}").open("a") as file:
            file.write(f"{record.round} ")

    ehfl.compare(SPEC, runs=tmp_path, jobs=jobs, on_round=note)

    found = {path.name: path.read_text() for path in notes.iterdir()}
    assert found == {"always-on:1-0": "0 1 2 ", "always-on:2-0": "0 1 2 "}
