"""One of each thing that a user can write: to be copied beside a spec, under another name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ehfl import Metric, View
from ehfl.learning.aggregation.contract import State, Update
from ehfl.learning.tasks.examples import Examples


@dataclass(frozen=True)
class EveryOther:
    """So many units for everybody in every other round."""

    peak: int = 1

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.int64]:
        shines = 1 - np.asarray(rounds) % 2
        return self.peak * np.repeat(shines[:, None], len(clients), axis=1)

    def mean_rates(self, n_clients: int) -> NDArray[np.float64]:
        return np.full(n_clients, self.peak / 2)


@dataclass(frozen=True)
class Written:
    """So many units for everybody in every round as a file says, or that of this name in a folder."""

    file: Path

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.int64]:
        return np.full((len(rounds), len(clients)), self._said())

    def mean_rates(self, n_clients: int) -> NDArray[np.float64]:
        return np.full(n_clients, float(self._said()))

    def _said(self) -> int:
        file = Path(self.file)
        return int((file / "units.txt" if file.is_dir() else file).read_text())


@dataclass(frozen=True)
class FirstFew:
    """The first so many of those who can pay."""

    count: int = 1

    def select(self, view: View) -> NDArray[np.int64]:
        return np.flatnonzero(view.energy >= view.cost)[: self.count]


@dataclass(frozen=True)
class FirstHas:
    """So many examples for the first client, equal shares of the rest for the others."""

    examples: int = 2

    def partition(self, labels: NDArray[np.int64], n_clients: int, seed: int) -> list[NDArray[np.int64]]:
        mine, rest = np.split(np.arange(labels.size), [self.examples])
        return [mine, *np.array_split(rest, n_clients - 1)]


@dataclass(frozen=True)
class Halving:
    """Half the step in every round."""

    causal: ClassVar[bool] = True
    first: float = 0.5

    def __call__(self, counts: ArrayLike, rounds: int | None = None) -> NDArray[np.float64]:
        n_t = np.asarray(counts)
        return np.where(n_t > 0, self.first / 2.0 ** np.arange(n_t.size), 0.0)


@dataclass(frozen=True)
class Damped:
    """The model moves by a part of the mean update; it remembers in how many rounds it moved."""

    part: float = 0.5

    def init(self, n_clients: int, n_params: int) -> State:
        return {"moved": torch.zeros(1)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        deltas = [update.delta for update in updates]
        if not deltas:
            return x, state
        return x + self.part * torch.stack(deltas).mean(dim=0), {"moved": state["moved"] + 1}

    def share(self, examples: int) -> float:
        return 1


@dataclass(frozen=True, eq=False)
class Line:
    """Find the slope of a line from 24 points of it, each a little off."""

    name: ClassVar[str] = "line"
    metric: ClassVar[Metric] = Metric("error", lower_is_better=True, bounds=(0, None))
    slope: float = 2.0
    training: Examples = field(init=False, repr=False)
    test: Examples = field(init=False, repr=False)

    def __post_init__(self) -> None:
        x = torch.linspace(-1, 1, 24)[:, None]
        object.__setattr__(self, "training", Examples(x, torch.arange(24)))
        object.__setattr__(self, "test", Examples(x[::6], torch.zeros(4, dtype=torch.int64)))

    def model(self, rng: np.random.Generator) -> nn.Module:
        layer = nn.Linear(1, 1, bias=False)
        nn.init.constant_(layer.weight, float(rng.random()))
        return layer

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs[:, 0] - self.slope - 0.01 * targets).square().mean()

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        return abs(outputs.mean().item() - self.slope)
