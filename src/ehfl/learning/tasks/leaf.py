"""Tasks on files in LEAF's layout (S. Caldas et al., arXiv 1812.01097): FEMNIST and Shakespeare, each with its users.

A folder has `train/*.json` and `test/*.json`, and each file {"users": [name, ...], "user_data": {name: {"x": [...],
"y": [...]}}}, as LEAF's preprocessing writes them. `partition = "natural"` gives each user's examples to one client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ehfl.files import parse_json
from ehfl.learning.initialisation import initialise
from ehfl.learning.tasks.contract import Classification
from ehfl.learning.tasks.examples import Examples
from ehfl.validation import InvalidValue

CHARACTERS = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"  # 80, as in LEAF
_PIXELS = 28 * 28
_LENGTH = 80  # characters before the one to predict

Convert = Callable[[list[Any]], Tensor]  # a user's list to a tensor with an example a row


@dataclass(frozen=True, eq=False)
class Femnist(Classification):
    """Handwritten digits and letters of 62 classes, by writer: 28x28 grey values in [0, 1], labels in [0, 61]."""

    data: str | Path  # the folder with train and test
    training: Examples = field(init=False, repr=False)
    test: Examples = field(init=False, repr=False)
    name: ClassVar[str] = "femnist"
    classes: ClassVar[tuple[str, ...]] = tuple("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

    def __post_init__(self) -> None:
        _load(self, _images, _labels)

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return LEAF's network: 5x5 convolutions of 32 and 64 channels, each with ReLU and pooling, 2048 and 62."""
        layers = nn.Sequential(
            *(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(64 * 7 * 7, 2048), nn.ReLU(), nn.Linear(2048, len(self.classes))),
        )
        return initialise(layers, rng)


@dataclass(frozen=True, eq=False)
class Shakespeare(Classification):
    """The next character after 80 of a play, by role; characters are numbers in [0, 79]."""

    data: str | Path  # the folder with train and test
    training: Examples = field(init=False, repr=False)
    test: Examples = field(init=False, repr=False)
    name: ClassVar[str] = "shakespeare"

    def __post_init__(self) -> None:
        _load(self, _texts, _next_characters)

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return LEAF's network: an embedding of 8, two LSTM layers of 256, and a linear layer."""
        return initialise(_NextCharacter(), rng)


class _NextCharacter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(CHARACTERS), 8)
        self.recurrent = nn.LSTM(8, 256, num_layers=2, batch_first=True)
        self.last = nn.Linear(256, len(CHARACTERS))

    def forward(self, characters: Tensor) -> Tensor:
        """Return the scores of the next character, (n_examples, 80)."""
        states: Tensor = self.recurrent(self.embedding(characters))[0]
        scores: Tensor = self.last(states[:, -1])
        return scores


def _images(given: list[Any]) -> Tensor:
    return torch.from_numpy(np.array(given, np.float32).reshape(-1, _PIXELS)).view(-1, 1, 28, 28)


def _labels(given: list[Any]) -> Tensor:
    return torch.from_numpy(np.array(given, np.int64))


def _texts(given: list[Any]) -> Tensor:
    return torch.from_numpy(np.array([_numbers(text, _LENGTH) for text in given], np.int64).reshape(-1, _LENGTH))


def _next_characters(given: list[Any]) -> Tensor:
    return torch.from_numpy(np.array([_numbers(text, 1)[0] for text in given], np.int64))


def _numbers(text: str, length: int) -> list[int]:
    found = [CHARACTERS.find(character) for character in text]
    if len(found) != length or min(found) < 0:
        raise ValueError(f"{text!r:.40} is not a string of {length} of LEAF's {len(CHARACTERS)} characters")
    return found


def _load(task: Femnist | Shakespeare, inputs: Convert, targets: Convert) -> None:
    for name, part in (("training", "train"), ("test", "test")):
        object.__setattr__(task, name, _read(Path(task.data) / part, inputs, targets))


def _read(folder: Path, inputs: Convert, targets: Convert) -> Examples:
    """Return the examples of all files in a folder, users in the order of their names."""
    data: dict[str, Any] = {}
    for file in sorted(folder.glob("*.json")):
        try:
            content = parse_json(file.read_bytes())
            for user in content["users"]:
                x, y = (content["user_data"][user][key] for key in ("x", "y"))
                if len(x) != len(y):
                    raise ValueError(f"{len(x)} x and {len(y)} y")
                if x:
                    data[user] = inputs(x), targets(y)
        except (KeyError, TypeError, ValueError, OSError) as error:
            allowed = "files as LEAF writes them: users and, by user, lists x and y of equal length"
            raise InvalidValue("data", allowed, f"{file} ({type(error).__name__}: {error})") from error
    if not data:
        raise InvalidValue("data", "a folder of LEAF's with examples in train/*.json and test/*.json", f"{folder}")
    names = sorted(data)
    users = [name for name in names for _ in range(len(data[name][1]))]
    inputs_of_all, targets_of_all = (torch.cat([data[name][part] for name in names]) for part in range(2))
    return Examples(inputs_of_all, targets_of_all, users)
