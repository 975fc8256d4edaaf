"""Local optimisers of torch.optim, on the vector of all weights."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from turns import CPU, player

from ehfl import Participation
from ehfl.arrays import IntArray
from ehfl.learning import LocalSgd, Task, train
from ehfl.learning.engine.local_sgd import OPTIMISERS, minibatches, read_optimiser
from ehfl.learning.first_model import initial_model

PARTS: list[IntArray] = [np.arange(40), np.arange(40, 90)]
NOT_FLAT = ("adafactor", "lbfgs", "muon", "sparseadam")  # whose step is not one of each weight by itself


@pytest.mark.parametrize("name", [name for name in OPTIMISERS if name not in NOT_FLAT])
def test_every_optimiser_steps_as_torch_does_on_a_models_own_parameters(blobs: Task, name: str) -> None:
    rule = LocalSgd(local_steps=4, batch_size=8, local=name)
    own = player(blobs, PARTS, rule)
    x, module = own.model.weights.clone(), initial_model(blobs, 0, CPU).module
    kind: Callable[..., torch.optim.Optimizer] = OPTIMISERS[name]
    optimiser = kind(module.parameters(), lr=0.05)
    for batch in islice(minibatches(rule, PARTS[1], 0, 1, 3), 4):
        optimiser.zero_grad()
        inputs, targets = blobs.training.inputs[batch], blobs.training.targets[batch]
        blobs.loss(module(inputs), targets).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    update = own.train(x, 1, t=3, eta=0.05)

    plain = torch.cat([p.detach().reshape(-1) for p in module.parameters()])
    torch.testing.assert_close(update.weights, plain, atol=1e-6, rtol=1e-5)
    assert not torch.equal(update.weights, x)


@pytest.mark.parametrize("local", ["sgd:momentum=0.9", {"name": "adamw", "weight_decay": 0.01, "betas": [0.8, 0.99]}])
def test_an_optimiser_starts_anew_in_every_turn(blobs: Task, local: Any) -> None:
    one, other = (player(blobs, PARTS, LocalSgd(local_steps=3, batch_size=5, local=local)) for _ in range(2))
    x = one.model.weights.clone()
    for t in range(3):
        other.train(x, 0, t, eta=0.1)

    assert torch.equal(one.train(x, 1, 4, eta=0.1).weights, other.train(x, 1, 4, eta=0.1).weights)


def test_plain_sgd_has_one_form_and_momentum_zero_the_same_bits(blobs: Task, gaps: Participation) -> None:
    assert LocalSgd(local="sgd") == LocalSgd()
    plain = train(blobs, gaps, step_size=0.1, engine="plain")
    zero = train(blobs, gaps, step_size=0.1, local="sgd:momentum=0.0", engine="plain")

    assert np.array_equal(plain.weights, zero.weights)


def test_the_step_decays_inside_a_turn(blobs: Task) -> None:
    own = player(blobs, PARTS, LocalSgd(local_steps=2, batch_size=100, local_decay=0.5))
    plain = player(blobs, PARTS, LocalSgd(local_steps=1, batch_size=100))
    x = own.model.weights.clone()
    half_way = plain.train(x, 0, t=0, eta=0.2).weights

    update = own.train(x, 0, t=0, eta=0.2)

    torch.testing.assert_close(update.weights, plain.train(half_way, 0, t=0, eta=0.1).weights)
    assert update.eta == pytest.approx(0.15)


def test_clients_take_as_many_steps_as_their_examples_make(blobs: Task) -> None:
    own = player(blobs, [np.arange(7), np.arange(7, 90)], LocalSgd(batch_size=10, local_epochs=2))
    x = own.model.weights.clone()

    assert [own.train(x, client, t=0, eta=0.1).steps for client in range(2)] == [2, 18]


@pytest.mark.parametrize(
    "how", [{"local": "adam"}, {"local_epochs": 2}, {"local_decay": 0.9, "local": "sgd:momentum=0.9"}]
)
def test_runs_are_the_same_for_any_number_of_workers_and_after_a_resume(
    blobs: Task, gaps: Participation, how: dict[str, Any], tmp_path: Path
) -> None:
    def stop(record: Any) -> None:
        if record.round == 1:
            raise KeyboardInterrupt

    settings: dict[str, Any] = {"batch_size": 8, "step_size": 0.01, "aggregation": "scaffold", **how}
    whole = [train(blobs, gaps, **settings, workers=n) for n in (1, 2, 3)]
    with pytest.raises(KeyboardInterrupt):
        train(blobs, gaps, **settings, run_dir=tmp_path, checkpoint_every=1, on_round=stop)
    resumed = train(blobs, gaps, **settings, run_dir=tmp_path)

    assert all(np.array_equal(one.weights, resumed.weights) for one in whole)
    assert all(one.records == resumed.records for one in whole)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("adan", "^local must be one of .*adam.*did you mean"),
        ("adam:lr=0.1", "^local.lr must be left out: step_size sets the step"),
        ("adam:momentum=0.9", "^local.momentum must be a parameter of torch.optim's adam, got momentum"),
        ("sgd:momentum=-1", "^local must be an optimiser that .*momentum"),
        ("lbfgs", "^local must be an optimiser that trains one dense vector"),
        (3, "^local must be one of"),
    ],
)
def test_optimisers_that_cannot_train_are_refused_in_one_line(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read_optimiser(given)
    assert "\n" not in str(error.value)
