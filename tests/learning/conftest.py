"""Small tasks and participations that the learning tests share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ehfl import Fleet, Greedy, Participation, Replay, simulate
from ehfl.learning import Examples, Metric, initialise, load_task
from ehfl.learning.tasks.contract import accuracy
from ehfl.learning.tasks.digits import Digits

sys.path.insert(0, str(Path(__file__).parent))  # so that "server_momentum:ServerMomentum" names a user's own class


@dataclass(frozen=True, eq=False)
class Blobs:
    """Three classes of points in the plane and a small network: a user's task, in one screen."""

    size: int = 90
    name: str = "blobs"
    metric: ClassVar[Metric] = Metric("accuracy", bounds=(0, 1))
    training: Examples = field(init=False)
    test: Examples = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(5)
        labels = np.arange(self.size) % 3
        points = rng.normal(size=(self.size, 2)) + np.array([[0, 3], [3, 0], [-3, -3]])[labels]
        examples = Examples(torch.from_numpy(points).float(), torch.from_numpy(labels))
        object.__setattr__(self, "training", examples)
        object.__setattr__(self, "test", examples)

    def model(self, rng: np.random.Generator) -> nn.Module:
        return initialise(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3)), rng)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(outputs, targets)

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        return accuracy(outputs, targets)


def participation(rows: Sequence[Sequence[int]]) -> Participation:
    """Rows of 0 and 1: who takes part in which round."""
    arrivals = [*rows[1:], [0] * len(rows[0])]  # what is harvested in round t is spent in round t + 1
    fleet = Fleet(clients=len(rows[0]), harvest=Replay(arrivals), initial=list(rows[0]))
    played = simulate(fleet, Greedy(), rounds=len(rows))
    assert [np.isin(np.arange(len(rows[0])), played.clients(t)).tolist() for t in range(len(rows))] == [
        [bool(there) for there in row] for row in rows
    ]
    return played


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Models this small are slower on two threads, and far slower on a busy machine."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def digits() -> Digits:
    task = load_task("digits")
    assert isinstance(task, Digits)
    return task


@pytest.fixture(scope="session")
def blobs() -> Blobs:
    return Blobs()


@pytest.fixture(scope="session")
def gaps() -> Participation:
    """Four clients over eight rounds, empty rounds first, between and last."""
    rows = ["0000", "1010", "0000", "1111", "0001", "0000", "0110", "0000"]
    return participation([[int(there) for there in row] for row in rows])
