"""Models with buffers, random numbers and frozen parameters: what a turn sends, draws and leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from turns import CPU, player

from ehfl import Participation
from ehfl.learning import LocalSgd, Task, evaluate, load_model, train
from ehfl.learning.engine.chance import Chance
from ehfl.learning.first_model import initial_model, task_size

PARTS = [np.arange(30), np.arange(30, 90)]


class With:
    """A task with another model, whose weights torch draws."""

    def __init__(self, task: Task, make: Callable[[], nn.Module]) -> None:
        self.name, self.metric, self.training, self.test = task.name, task.metric, task.training, task.test
        self.loss, self.score, self._make = task.loss, task.score, make

    def model(self, rng: np.random.Generator) -> nn.Module:
        return self._make()


def normed() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def dropping() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, 3))


def partly_frozen() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 8).requires_grad_(requires_grad=False), nn.ReLU(), nn.Linear(8, 3))


KINDS: dict[str, Callable[[], nn.Module]] = {
    "batch norm": normed,
    "dropout": dropping,
    "frozen": partly_frozen,
    "all": lambda: nn.Sequential(partly_frozen(), nn.BatchNorm1d(3), nn.Dropout(0.1), nn.Linear(3, 3)),
}


@pytest.mark.parametrize("buffers", ["mean", "local", "frozen"])
@pytest.mark.parametrize("kind", KINDS)
def test_runs_are_the_same_for_any_number_of_workers_and_after_a_resume(
    blobs: Task, gaps: Participation, kind: str, buffers: str, tmp_path: Path
) -> None:
    def stop(record: Any) -> None:
        if record.round == 1:
            raise KeyboardInterrupt

    task = With(blobs, KINDS[kind])
    settings: dict[str, Any] = {"batch_size": 8, "step_size": 0.1, "eval_every": 1, "buffers": buffers}
    whole = [train(task, gaps, **settings, workers=n) for n in (1, 2, 3)]
    with pytest.raises(KeyboardInterrupt):
        train(task, gaps, **settings, run_dir=tmp_path, checkpoint_every=1, on_round=stop)
    resumed = train(task, gaps, **settings, run_dir=tmp_path)

    assert all(np.array_equal(one.weights, resumed.weights) for one in whole)
    assert all(one.records == resumed.records for one in whole)
    model = load_model(tmp_path, task)
    assert evaluate(task, model).metric == resumed.final_metric


def test_running_means_are_averaged_as_the_models_are(blobs: Task) -> None:
    task = With(blobs, normed)
    own = player(task, PARTS, LocalSgd(local_steps=1, batch_size=100))
    x, before = own.model.weights.clone(), own.model.buffers()
    assert before is not None and own.model.traits.moving == ("1.running_mean", "1.running_var")
    hidden = [nn.functional.linear(task.training.inputs[part], *own.model.parameters[:2]).detach() for part in PARTS]
    expected = np.mean([0.1 * one.mean(dim=0).numpy() for one in hidden], axis=0)  # from 0, with torch's momentum 0.1

    own.play(0, [0, 1], eta=0.1)

    module = own.model.module
    torch.testing.assert_close(module.get_buffer("1.running_mean"), torch.from_numpy(expected))
    assert module.get_buffer("1.num_batches_tracked") == 0  # starts anew in every turn
    kept = own.model.buffers()
    own.play(1, [], eta=0.1)
    assert torch.equal(own.model.buffers(), kept)  # type: ignore[arg-type]
    assert not torch.equal(own.model.weights, x)


def test_local_buffers_start_from_the_clients_last_turn(blobs: Task) -> None:
    task = With(blobs, normed)
    own = player(task, PARTS, LocalSgd(local_steps=1, batch_size=100, buffers="local"))
    start, x = own.model.buffers(), own.model.weights.clone()
    assert start is not None
    alone = own.engine.train(replace(next(own.server.orders(0, own.turns([1]), 0.1))), own.model).buffers
    own.model.put(x, start)

    own.play(0, [0, 1], eta=0.1)

    first, second = own.server.orders(1, own.turns([0, 1]), 0.1)
    assert torch.equal(second.buffers, alone)  # type: ignore[arg-type]
    assert not torch.equal(first.buffers, second.buffers)  # type: ignore[arg-type]


def test_frozen_buffers_are_used_in_training_and_stay(blobs: Task) -> None:
    task = With(blobs, normed)
    model = initial_model(task, 0, CPU, "frozen")

    assert model.buffers() is None
    before = model.module.state_dict()["1.running_var"].clone()
    with torch.no_grad():
        one = model.module(task.training.inputs[:1])  # batch normalisation in training refuses a single example
    assert one.shape == (1, 3) and torch.equal(model.module.state_dict()["1.running_var"], before)
    assert task_size(task, "frozen").model_bytes == 4 * model.weights.numel()
    assert task_size(task).model_bytes == 4 * (model.weights.numel() + 16)


def test_frozen_parameters_are_neither_sent_nor_changed(blobs: Task, gaps: Participation) -> None:
    task = With(blobs, partly_frozen)
    history = train(task, gaps, batch_size=8, step_size=0.1)

    assert history.weights.size == 8 * 3 + 3
    assert history.traffic is not None and history.traffic.weights == 27
    assert task_size(task)[:2] == (27 * 4, 2 * (16 + 24) + 2 * 24)  # no gradient before the frozen layer


def test_random_numbers_come_from_seed_client_and_round(blobs: Task) -> None:
    own = player(With(blobs, dropping), PARTS, LocalSgd(local_steps=2, batch_size=100))
    x = own.model.weights.clone()
    state = torch.random.get_rng_state()
    turns = [own.train(x, 1, t, eta=0.1).weights for t in (3, 4, 3)]

    assert torch.equal(turns[0], turns[2]) and not torch.equal(turns[0], turns[1])
    assert torch.equal(torch.random.get_rng_state(), state)


def test_every_random_operation_of_torch_is_drawn_from_the_stream() -> None:
    x = torch.ones(4, 8)
    operations: list[Callable[[], torch.Tensor]] = [
        lambda: nn.functional.dropout(x, 0.3),
        lambda: nn.functional.alpha_dropout(x, 0.3, training=True),
        lambda: nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.4),
        lambda: nn.functional.gumbel_softmax(x),
        lambda: torch.rand(3),
        lambda: torch.randint(0, 1000, (5,)),
        lambda: torch.randperm(20),
        lambda: torch.randn_like(x),
        lambda: torch.multinomial(torch.ones(30), 9),
        lambda: torch.empty(3).exponential_(),
    ]
    for operation in operations:
        drawn = []
        for seed in (1, 1, 2):
            with Chance(seed) as chance:
                drawn.append(operation())
            assert chance.drew
        assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])


def test_buffers_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^buffers must be one of mean, local, frozen, got none"):
        LocalSgd(buffers="none")


@pytest.mark.parametrize("how", [{"batch_size": 1}, {"batch_size": 29, "local_epochs": 1}])
def test_batches_of_one_example_are_refused_before_training(
    blobs: Task, gaps: Participation, how: dict[str, Any]
) -> None:
    shares = [np.arange(30), *np.array_split(np.arange(30, 90), gaps.n_clients - 1)]

    class Fixed:
        def partition(self, targets: Any, n_clients: int, seed: int) -> list[Any]:
            return shares

    with pytest.raises(ValueError, match=r"^batch_size must be one that leaves no client a batch of a single example"):
        train(With(blobs, normed), gaps, **how, partition=Fixed())
    assert train(With(blobs, dropping), gaps, **how, partition=Fixed()).records
