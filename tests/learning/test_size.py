"""How large tasks are: counted by torch, and the file that says so without it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from ehfl.experiment.spec.costing import _sizes
from ehfl.learning import AGGREGATIONS, TASKS, Examples, Task, initialise, load_task, task_size
from ehfl.learning.aggregation.contract import traffic_of
from ehfl.learning.tasks.cifar import NETWORKS
from ehfl.learning.tasks.leaf import Femnist, Shakespeare


@dataclass(frozen=True)
class Images:
    """CIFAR-10's networks on a black image: their size is the task's, whose files need not be there."""

    network: str
    training: ClassVar[Examples] = Examples(
        torch.zeros(1, 32, 32, 3, dtype=torch.uint8), torch.zeros(1, dtype=torch.int64)
    )

    def model(self, rng: Any) -> nn.Module:
        return NETWORKS[self.network](rng)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(outputs, targets)


def test_a_task_of_ones_own_is_counted_forward_and_backward(blobs: Task) -> None:
    # 2 x 8 and 8 x 3 weights: two FLOP each forward, for their gradients, and for that of the hidden layer alone
    forward, weights, hidden = 2 * (16 + 24), 2 * (16 + 24), 2 * 24

    assert task_size(blobs) == ((16 + 8 + 24 + 3) * 4, forward + weights + hidden, len(blobs.training))


@pytest.mark.parametrize("name", ["digits", "quadratic", "wells"])
def test_the_file_says_what_torch_counts(name: str) -> None:
    size = task_size(load_task(name))

    assert _sizes()["tasks"][name] == {key: value for key, value in size._asdict().items() if value}


@pytest.mark.parametrize(("name", "network"), [("cifar10", "paper"), ("cifar10 small", "small")])
def test_so_it_does_of_the_networks_of_cifar10(name: str, network: str) -> None:
    assert _sizes()["tasks"][name] == task_size(Images(network))._asdict() | {"examples": 50_000}  # type: ignore[arg-type]


LEAF = {
    "femnist": (Femnist, torch.zeros(1, 1, 28, 28)),
    "shakespeare": (Shakespeare, torch.zeros(1, 80, dtype=torch.int64)),
}


@pytest.mark.parametrize("name", LEAF)
def test_so_it_does_of_the_tasks_on_files_of_leaf(name: str) -> None:
    kind, inputs = LEAF[name]
    task = object.__new__(kind)  # without files
    object.__setattr__(task, "training", Examples(inputs, torch.zeros(1, dtype=torch.int64)))

    size = task_size(task)  # type: ignore[arg-type]

    assert _sizes()["tasks"][name] == {"model_bytes": size.model_bytes, "flop_per_sample": size.flop_per_sample}


def test_recurrent_layers_are_counted() -> None:
    class Sequences:
        training = Examples(torch.zeros(4, 5, 3), torch.zeros(4))

        def model(self, rng: Any) -> nn.Module:
            return initialise(nn.LSTM(3, 2, batch_first=True), rng)

        def loss(self, outputs: Any, targets: Tensor) -> Tensor:
            return outputs[0].sum()  # type: ignore[no-any-return]

    gates = 4 * 2
    forward = (
        5 * 2 * gates * (3 + 2)
    )  # of 5 steps; then the gradients of both matrices, and of all states but the first
    backward = forward + 4 * 2 * gates * 2

    assert task_size(Sequences()).flop_per_sample == pytest.approx(forward + backward, rel=0.2)  # type: ignore[arg-type]


def test_every_task_and_every_network_is_in_the_file() -> None:
    networks = {f"{name} {network}" for name in ("cifar10", "cifar100") for network in NETWORKS if network != "paper"}

    assert _sizes()["tasks"].keys() == {*TASKS.members, *networks}


@pytest.mark.parametrize("name", AGGREGATIONS.members)
def test_the_file_says_what_a_turn_sends(name: str) -> None:
    sent = traffic_of(AGGREGATIONS.make(name), n_params=0)

    assert _sizes()["aggregations"][name] == {"models_down": sent.down, "models_up": sent.up}


def test_the_page_has_the_sizes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "energy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w, ]+) \| ([\d,]+) bytes \| ([\d,]+|none)", page, re.MULTILINE)
    told = {name: (int(size.replace(",", "")), flop.replace(",", "")) for name, size, flop in rows}

    for name, size in _sizes()["tasks"].items():
        row = {f"{data} small": f"{data}, network small" for data in ("cifar10", "cifar100")}
        row |= {"quadratic": "quadratic, wells", "wells": "quadratic, wells"}
        assert told[row.get(name, name)] == (size["model_bytes"], str(size.get("flop_per_sample", "none")))
