"""Handwritten digits that come with ehfl, with a small CNN: no download, the default task.

digits.npz holds the 1,797 images of 8x8 pixels from the test part of E. Alpaydin and C. Kaynak, "Optical Recognition of
Handwritten Digits", UCI Machine Learning Repository, 1998 (CC BY 4.0): the same that scikit-learn's load_digits
returns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ehfl.learning.initialisation import initialise
from ehfl.learning.tasks.contract import Classification
from ehfl.learning.tasks.examples import Examples
from ehfl.randomness import Purpose, generator

_TEST_SIZE = 360  # of 1,797 images


@dataclass(frozen=True, eq=False)
class Digits(Classification):
    """8x8 grey images of handwritten digits; 1,437 to train on, 360 to test on, the same split every time."""

    name: ClassVar[str] = "digits"
    classes: ClassVar[tuple[str, ...]] = tuple("0123456789")
    training: Examples = field(init=False, repr=False)
    test: Examples = field(init=False, repr=False)

    def __post_init__(self) -> None:
        pixels, labels = _bundled()
        # The split is part of the task: the same for every seed of a run.
        order = generator(0, Purpose.PARTITION, client=1).permutation(len(labels))
        inputs = torch.from_numpy((pixels[order] / 16).astype(np.float32)).view(-1, 1, 8, 8)
        targets = torch.from_numpy(labels[order].astype(np.int64))
        object.__setattr__(self, "training", Examples(inputs[_TEST_SIZE:], targets[_TEST_SIZE:]))
        object.__setattr__(self, "test", Examples(inputs[:_TEST_SIZE], targets[:_TEST_SIZE]))

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return two 3x3 convolutions of stride 2 (16 and 32 channels) and a linear layer: 6,090 weights."""
        layers = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1, stride=2), nn.ReLU()),
            *(nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(128, 10)),
        )
        return initialise(layers, rng)


def _bundled() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return pixels from 0 to 16, (1797, 64), and labels, (1797,)."""
    with (files("ehfl.learning.tasks") / "digits.npz").open("rb") as file, np.load(file) as stored:
        return stored["pixels"].astype(np.float64), stored["labels"].astype(np.float64)
