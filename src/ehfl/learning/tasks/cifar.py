"""CIFAR-10 and CIFAR-100 with the paper's network (section 4), or a small one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ehfl.learning.initialisation import initialise
from ehfl.learning.tasks.cifar_files import CIFAR10, CIFAR100, RECORDS, Layout, read_cifar
from ehfl.learning.tasks.cifar_layers import Convolution5x5, LocalResponseNorm
from ehfl.learning.tasks.contract import Classification
from ehfl.learning.tasks.examples import Examples
from ehfl.validation import InvalidValue

# Of the training set's pixels in [0, 255], red, green, blue.
_MEAN = (125.3, 123.0, 113.9)
_STD = (63.0, 62.1, 66.7)
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")  # by label
FINE = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle
caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant flatfish
forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle
mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine
possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar
sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle wardrobe whale
willow_tree wolf woman worm
"""  # of CIFAR-100, by finer label


@dataclass(frozen=True, eq=False)
class Cifar10(Classification):
    """60,000 colour images of 10 classes, 50,000 to train on; kept as bytes and standardised inside the model.

    `data` holds the official binary files or their archive; without it $EHFL_DATA, else they are downloaded. `network`
    is "paper" or "small", which learns less and takes about a tenth of the time.
    """

    name: ClassVar[str] = "cifar10"
    classes: ClassVar[tuple[str, ...]] = CLASSES
    layout: ClassVar[Layout] = CIFAR10
    data: str | Path | None = None
    records: int = RECORDS  # in each of the six files
    network: str = "paper"
    training: Examples = field(init=False, repr=False)
    test: Examples = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.network not in NETWORKS:
            raise InvalidValue("network", f"one of {', '.join(NETWORKS)}", repr(self.network))
        images, labels, test_images, test_labels = read_cifar(self.data, self.records, self.layout)
        object.__setattr__(self, "training", _examples(images, labels))
        object.__setattr__(self, "test", _examples(test_images, test_labels))

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return the CNN named by `network`."""
        return NETWORKS[self.network](rng, self.layout.classes)


@dataclass(frozen=True, eq=False)
class Cifar100(Cifar10):
    """The same for CIFAR-100: 50,000 images to train on and 10,000 to test on, of 100 classes."""

    name: ClassVar[str] = "cifar100"
    classes: ClassVar[tuple[str, ...]] = tuple(FINE.split())
    layout: ClassVar[Layout] = CIFAR100


def paper_network(rng: np.random.Generator, n_classes: int = 10) -> nn.Module:
    """Return the CNN of section 4, on images of bytes: 1,756,426 weights.

    Two 5x5 convolutions of 64 channels, each followed by ReLU, 2x2 max pooling and local response normalisation; then
    fully connected layers of 384, 192 and the classes. Pooling comes before ReLU here: same values, less work.
    """
    layers = nn.Sequential(
        Standardise(),
        *_block(nn.Conv2d(3, 64, 5, padding=2)),
        *_block(Convolution5x5(64, 64)),
        nn.Flatten(),
        *(nn.Linear(64 * 8 * 8, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU()),
        nn.Linear(192, n_classes),
    )
    return initialise(layers, rng)


def small_network(rng: np.random.Generator, n_classes: int = 10) -> nn.Module:
    """Return three 3x3 convolutions of stride 2 (16, 32, 32 channels, ReLU) and a linear layer: 19,466 weights."""
    layers = nn.Sequential(
        Standardise(),
        *(nn.Conv2d(3, 16, 3, padding=1, stride=2), nn.ReLU()),
        *(nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.ReLU()),
        *(nn.Conv2d(32, 32, 3, padding=1, stride=2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(32 * 4 * 4, n_classes)),
    )
    return initialise(layers, rng)


NETWORKS: dict[str, Callable[..., nn.Module]] = {"paper": paper_network, "small": small_network}


def _block(convolution: nn.Module) -> tuple[nn.Module, ...]:
    return convolution, nn.MaxPool2d(2), nn.ReLU(inplace=True), LocalResponseNorm(64, size=9, alpha=0.001)


class Standardise(nn.Module):
    """Bytes of shape (n_images, 32, 32, 3) to floats of shape (n_images, 3, 32, 32), channels last in memory."""

    mean: Tensor
    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(_MEAN), persistent=False)
        self.register_buffer("scale", 1 / torch.tensor(_STD), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Return (images - mean) / std."""
        return images.float().sub_(self.mean).mul_(self.scale).movedim(-1, 1)


def _examples(images: np.ndarray, labels: np.ndarray) -> Examples:
    return Examples(torch.from_numpy(images), torch.from_numpy(labels.astype(np.int64)))
