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
from ehfl.learning import AGGREGATIONS, TASKS, Examples, Task, load_task, task_size
from ehfl.learning.aggregation import traffic_of
from ehfl.learning.tasks.cifar10 import NETWORKS


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


def test_every_task_and_every_network_is_in_the_file() -> None:
    networks = {f"cifar10 {network}" for network in NETWORKS if network != "paper"}

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
        row = {"cifar10 small": "cifar10, network small", "quadratic": "quadratic, wells", "wells": "quadratic, wells"}
        assert told[row.get(name, name)] == (size["model_bytes"], str(size.get("flop_per_sample", "none")))
