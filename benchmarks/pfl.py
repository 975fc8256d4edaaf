"""How fast ehfl trains against pfl-research 0.6, Apple's simulator: the same rounds of both, in turns, in one run.

    pip install pfl==0.6.0                  then  python -m benchmarks.pfl [--rounds 6] [--turns 3]

The round of the paper is 5 clients, K = 5, batch 50, its CNN. pfl's own shape is 50 clients, 5 steps, batch 10, and the
CNN that its benchmarks have for CIFAR-10, without dropout. Both sides average plain SGD, without evaluation. pfl's
networks are nn.Conv2d and the like, as its users write them; it trains one client after the other with all cores inside
each operation. Medians, and the spread of the turns: these machines are noisy, so only ratios mean something.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
import torch
from benchmarks.training import ETA, STEPS, CifarShaped, Team, plain_network, seconds
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch import Tensor, nn

from ehfl.arrays import IntArray
from ehfl.learning import LocalSgd, initialise
from ehfl.learning.engine.device import keep_freed_memory
from ehfl.learning.engine.engine import Engine
from ehfl.learning.engine.workers import Workers, cores
from ehfl.learning.first_model import initial_model
from ehfl.learning.tasks.cifar import Standardise
from ehfl.partition import Iid


@dataclass(frozen=True, eq=False)
class PflCifar(CifarShaped):
    """The same images with the CNN of pfl's benchmarks."""

    name: str = "pfl-cifar"

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return the CNN, which standardises its images."""
        return initialise(nn.Sequential(Standardise(), *pfl_network()), rng)


def pfl_network() -> nn.Sequential:
    """Return two 3x3 convolutions (32 and 64 channels), a pooling and two dense layers: 1,626,442 weights."""
    convolutions = nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(64 * 14 * 14, 128), nn.ReLU(), nn.Linear(128, 10))


@dataclass(frozen=True)
class Shape:
    """What a round is."""

    name: str
    task: CifarShaped
    network: Callable[[], nn.Module]
    clients: int
    per_round: int
    batch: int


SHAPES = (
    Shape("round of the paper", CifarShaped(), plain_network, clients=10, per_round=5, batch=50),
    Shape("pfl's shape", PflCifar(), pfl_network, clients=100, per_round=50, batch=10),
)


class ForPfl(nn.Module):
    """A network with the two methods that pfl asks for."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def loss(self, inputs: Tensor, targets: Tensor, is_eval: bool = False) -> Tensor:
        """Return the mean cross entropy."""
        self.train(not is_eval)
        return nn.functional.cross_entropy(self.network(inputs), targets)

    def metrics(self, inputs: Tensor, targets: Tensor, is_eval: bool = True) -> dict[str, Any]:
        """Return nothing: no round evaluates."""
        return {}


class Stamps(TrainingProcessCallback):  # type: ignore[misc]
    """The instants at which pfl's rounds end."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def after_central_iteration(self, metrics: Metrics, model: Any, *, central_iteration: int) -> tuple[bool, Metrics]:
        """Note the time; False lets pfl go on."""
        self.at.append(time.perf_counter())
        return False, Metrics()


def rounds_of_pfl(shape: Shape, parts: list[IntArray], rounds: int) -> list[float]:
    """Return how long rounds of federated averaging take in pfl [s], without its first, which warms up."""
    examples, standardise = shape.task.training, Standardise()

    def data_of(part: IntArray) -> Dataset:
        few = torch.from_numpy(part[: STEPS * shape.batch])  # what a turn reads
        return Dataset(raw_data=[standardise(examples.inputs[few]).contiguous(), examples.targets[few]])

    data = [data_of(part) for part in parts]

    users = FederatedDataset(data.__getitem__, get_user_sampler("minimize_reuse", list(range(shape.clients))))
    module = ForPfl(shape.network())
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    stamps = Stamps()
    params = NNAlgorithmParams(
        central_num_iterations=rounds + 1,
        evaluation_frequency=10**6,
        train_cohort_size=shape.per_round,
        val_cohort_size=0,
    )
    turn = NNTrainHyperParams(
        local_num_epochs=None, local_num_steps=STEPS, local_learning_rate=ETA, local_batch_size=shape.batch
    )
    with redirect_stdout(StringIO()):  # pfl prints every round
        FederatedAveraging().run(params, SimulatedBackend(users, users), model, turn, None, [stamps])
    return np.diff(stamps.at).tolist()


def compare(shape: Shape, rounds: int, turns: int) -> None:
    """Print the round of pfl and of ehfl, in turns."""
    task, cpu = shape.task, torch.device("cpu")
    parts = list(Iid().partition(task.training.targets.numpy(), shape.clients, seed=0))
    model = initial_model(task, 0, cpu)
    workers = Workers(model, cores())
    team = Team(Engine(task, parts, LocalSgd(STEPS, shape.batch), cpu), model, workers)
    theirs, ours = [], []
    for _ in range(turns):
        torch.set_num_threads(cores())
        theirs.append(statistics.median(rounds_of_pfl(shape, parts, rounds)))
        torch.set_num_threads(1)
        with workers.running():
            took = [seconds(lambda: team.play(t, shape.per_round)) for t in range(rounds + 1)]  # noqa: B023
        ours.append(statistics.median(took[1:]))
    ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
    a, b = statistics.median(theirs), statistics.median(ours)
    print(f"{shape.name:20s} pfl {a:.2f} s   ehfl {b:.2f} s   {a / b:.2f} times as fast", end="")
    print(f" (turns: {min(ratios):.2f} to {max(ratios):.2f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    keep_freed_memory()
    for shape in SHAPES:
        compare(shape, options.rounds, options.turns)


if __name__ == "__main__":
    main()
