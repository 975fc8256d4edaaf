"""A user's own aggregation that remembers something (server_momentum.py), through kills and damage."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ehfl import Fleet, Greedy, Participation, Replay, simulate
from ehfl.learning import AGGREGATIONS, Mean, State, Task, Update, train
from ehfl.learning.checkpoint import NAME, CheckpointError, read_checkpoint
from ehfl.learning.tasks.problems import ProblemTask
from ehfl.runs import History, OtherRun, Record, read_history
from ehfl.theory import Quadratic
from ehfl.validation import UserError

MOMENTUM = {"name": "server_momentum:ServerMomentum", "beta": 0.5}
QUICK: dict[str, Any] = {
    "local_steps": 2, "batch_size": 8, "eval_every": 3, "checkpoint_every": 2, "aggregation": MOMENTUM, "device": "cpu"
}  # fmt: skip


def killed_in(round_: int, task: Task, played: Participation, folder: Path) -> None:
    def stop(record: Record) -> None:
        if record.round == round_:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(task, played, **QUICK, run_dir=folder, on_round=stop)


def check_equal(found: History, expected: History) -> None:
    assert found.records == expected.records
    assert found.weights.tobytes() == expected.weights.tobytes()


def test_models_that_a_turn_sends_are_counted_as_an_aggregation_says() -> None:
    class Halved(Mean):
        models_up = 0

    played = simulate(Fleet(clients=1, harvest=Replay([[1], [0]]), initial=1), Greedy(), rounds=2)
    sent = train("quadratic", played, aggregation=Halved()).traffic
    assert sent is not None and (sent.downloaded(turns=2), sent.uploaded(turns=2)) == (2 * 20 * 4 / 1e6, 0)

    Halved.models_up = 0.5  # type: ignore[assignment]
    with pytest.raises(UserError, match=r"^aggregation.models_up must be a whole number >= 0, got 0.5$"):
        train("quadratic", played, aggregation=Halved())


def test_momentum_on_the_quadratic_is_worked_by_hand() -> None:
    task = ProblemTask("by hand", Quadratic([1.0], variance=0.0), variance=0.0, minimum=0.0, examples=2, start=4.0)
    fleet = Fleet(clients=1, harvest=Replay([[1], [0], [1], [0]]), initial=1)
    seen: list[float] = []
    history = train(
        task, simulate(fleet, Greedy(), rounds=4), local_steps=1, step_size=0.5, aggregation=MOMENTUM, eval_every=1,
        on_round=lambda record: seen.append(record.test_loss or 0.0),
    )  # fmt: skip

    # A step halves x, so Delta = -x/2, and v = v/2 + Delta. Round 2 is empty and rolls on by v/2.
    # x: 4, 4 - 2 = 2, 2 - (1 + 1) = 0, 0 - 1 = -1, -1 + (-0.5 + 0.5) = -1; f is x^2 / 2
    assert [record.participants for record in history.records] == [1, 1, 0, 1]
    assert seen == [2.0, 0.0, 0.5, 0.5]
    assert history.weights.tolist() == [-1.0]


@pytest.mark.parametrize("round_", range(8))
def test_killed_in_any_round_and_resumed_it_ends_with_the_same_bits(
    blobs: Task, gaps: Participation, tmp_path: Path, round_: int
) -> None:
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    whole = train(blobs, gaps, **QUICK, run_dir=alone)

    killed_in(round_, blobs, gaps, killed)
    check_equal(train(blobs, gaps, **QUICK, run_dir=killed), whole)

    assert (killed / NAME).read_bytes() == (alone / NAME).read_bytes()
    assert read_history(killed / "rounds.jsonl") == list(whole.records)


def test_what_it_remembers_is_in_the_checkpoint_by_name(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    killed_in(4, blobs, gaps, tmp_path)

    state = read_checkpoint(tmp_path / NAME).state

    assert state.keys() == {"velocity", "rounds"}
    assert state["rounds"].item() == 4  # the checkpoint after round 3
    assert state["velocity"].dtype == np.float32
    assert np.abs(state["velocity"]).max() > 0


def test_what_it_remembers_matters(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    """Resumed from a checkpoint whose velocity was set to 0, the run ends elsewhere: the state is really read."""
    whole = train(blobs, gaps, **QUICK)
    killed_in(4, blobs, gaps, tmp_path)
    found = read_checkpoint(tmp_path / NAME)
    state = dict(found.state) | {"velocity": np.zeros_like(found.state["velocity"])}
    replace(found, state=state).write(tmp_path)

    assert train(blobs, gaps, **QUICK, run_dir=tmp_path).weights.tobytes() != whole.weights.tobytes()


def test_a_damaged_byte_of_it_is_noticed_and_costs_rounds_but_not_the_result(
    blobs: Task, gaps: Participation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = train(blobs, gaps, **QUICK, run_dir=tmp_path)
    path = tmp_path / NAME
    content = bytearray(path.read_bytes())
    content[content.index(read_checkpoint(path).state["velocity"].tobytes()) + 13] ^= 1
    path.write_bytes(content)

    with pytest.raises(CheckpointError, match=f"{NAME} is damaged: checksum mismatch"):
        read_checkpoint(path)
    with caplog.at_level(logging.WARNING, "ehfl.learning"):
        again = train(blobs, gaps, **QUICK, run_dir=tmp_path)

    assert str(path) in caplog.text
    check_equal(again, whole)


@pytest.mark.parametrize(
    ("other", "there"),
    [(MOMENTUM | {"beta": 0.9}, "ServerMomentum(beta=0.5) there and ServerMomentum(beta=0.9)"),
     ("mean", "ServerMomentum(beta=0.5) there and Mean()")],
)  # fmt: skip
def test_another_aggregation_does_not_go_on_from_it(
    blobs: Task, gaps: Participation, tmp_path: Path, other: object, there: str
) -> None:
    train(blobs, gaps, **QUICK, run_dir=tmp_path)

    with pytest.raises(OtherRun) as refused:
        train(blobs, gaps, **QUICK | {"aggregation": other}, run_dir=tmp_path)

    assert f"(aggregation is {there} here)" in str(refused.value)


def test_it_is_named_made_and_given_alike(blobs: Task, gaps: Participation) -> None:
    made = AGGREGATIONS.make("server_momentum:ServerMomentum:beta=0.5")

    runs = [train(blobs, gaps, **QUICK | {"aggregation": given}) for given in (MOMENTUM, made)]

    assert AGGREGATIONS.spelled_out("server_momentum:ServerMomentum") == MOMENTUM
    check_equal(*runs)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("server_momentum:Momentum", "importable as package.module:Class, got server_momentum:Momentum (module"),
        (
            MOMENTUM | {"gamma": 1},
            "aggregation.gamma must be a parameter of server_momentum:ServerMomentum, one of beta",
        ),
        (MOMENTUM | {"beta": "much"}, "aggregation.beta must be a number, got 'much'"),
        (torch.zeros(1), ", with init, apply, got tensor([0.]) without init"),
    ],
)
def test_what_is_no_aggregation_is_refused_in_one_line(
    blobs: Task, gaps: Participation, wrong: object, message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        train(blobs, gaps, **QUICK | {"aggregation": wrong})

    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


class Shrunk(Mean):
    """Returns a single number for a model."""

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        return sum(update.weights.mean() for update in updates) + torch.zeros(1), state


def test_a_model_of_another_shape_is_refused(blobs: Task, gaps: Participation) -> None:
    with pytest.raises(ValueError, match=r"^Shrunk.apply must return a model of shape \(51,\), got \(1,\)$"):
        train(blobs, gaps, **QUICK | {"aggregation": Shrunk()})


class Twice(Mean):
    """Looks at the updates before it takes their mean: none is left then."""

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        first = next(iter(updates), None)
        return (x if first is None else first.weights), state


class InPlace(Mean):
    """Changes the model that later clients start from."""

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        for update in updates:
            x += update.delta
        return x, state


@pytest.mark.parametrize(
    ("aggregation", "fault"),
    [
        (Twice(), r"Twice.apply must go through all updates once, and stopped after 1"),
        (InPlace(), r"InPlace.apply must not change x"),
    ],
)
def test_an_aggregation_that_breaks_the_contract_is_refused(
    blobs: Task, gaps: Participation, aggregation: Mean, fault: str
) -> None:
    with pytest.raises(UserError, match=fault):
        train(blobs, gaps, **QUICK | {"aggregation": aggregation})
