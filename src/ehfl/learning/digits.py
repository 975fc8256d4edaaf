"""scikit-learn's bundled digits with a small CNN: no download, the default task."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ehfl.learning.initialisation import blank, initialise
from ehfl.learning.task import Examples, accuracy
from ehfl.randomness import Purpose, generator

_TEST_SIZE = 360  # of 1,797 images


@dataclass(frozen=True, eq=False)
class Digits:
    """8x8 grey images of handwritten digits; 1,437 to train on, 360 to test on, the same split every time."""

    name: str = "digits"
    metric_name: str = "accuracy"
    training: Examples = field(init=False, repr=False)
    test: Examples = field(init=False, repr=False)

    def __post_init__(self) -> None:
        pixels, labels = _bundled()
        order = generator(0, Purpose.PARTITION, client=1).permutation(len(labels))
        inputs = torch.from_numpy((pixels[order] / 16).astype(np.float32)).view(-1, 1, 8, 8)
        targets = torch.from_numpy(labels[order].astype(np.int64))
        object.__setattr__(self, "training", Examples(inputs[_TEST_SIZE:], targets[_TEST_SIZE:]))
        object.__setattr__(self, "test", Examples(inputs[:_TEST_SIZE], targets[:_TEST_SIZE]))

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return two 3x3 convolutions of stride 2 (16 and 32 channels) and a linear layer: 6,090 weights."""
        layers = nn.Sequential(
            *(blank(nn.Conv2d, 1, 16, 3, padding=1, stride=2), nn.ReLU()),
            *(blank(nn.Conv2d, 16, 32, 3, padding=1, stride=2), nn.ReLU()),
            *(nn.Flatten(), blank(nn.Linear, 128, 10)),
        )
        return initialise(layers, rng)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross entropy."""
        return nn.functional.cross_entropy(outputs, targets)

    def metric(self, outputs: Tensor, targets: Tensor) -> float:
        """Return the accuracy."""
        return accuracy(outputs, targets)


def _bundled() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what scikit-learn's load_digits does, without its import, which takes every process over a second."""
    package = find_spec("sklearn")
    assert package is not None and package.origin is not None  # a dependency of ehfl
    table = np.loadtxt(Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz", delimiter=",")
    return table[:, :-1], table[:, -1]
