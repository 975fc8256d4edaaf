"""A task that misbehaves on the nodes it is told to: to be copied beside a spec, under another name."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from ehfl import Metric
from ehfl.learning.tasks import load_task
from ehfl.learning.tasks.examples import Examples

TRIED = 8  # examples on which a node tries a training step before it pays; no batch of these tests has as many


@dataclass(frozen=True, eq=False)
class Faulty:
    """The quadratic; a file such as orders/node-1.raise is what happens to that node's next training."""

    name: ClassVar[str] = "faulty"
    metric: ClassVar[Metric] = Metric("gap", lower_is_better=True)
    training: Examples = field(init=False, repr=False)
    test: Examples = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "training", load_task("quadratic").training)
        object.__setattr__(self, "test", load_task("quadratic").test)

    def model(self, rng: np.random.Generator) -> nn.Module:
        return load_task("quadratic").model(rng)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        if len(targets) == TRIED:
            return outputs.mean()
        if self._struck("raise"):
            raise RuntimeError("the sun went down")
        if self._struck("hang"):
            time.sleep(3600)
        while self._file("hold").exists():
            time.sleep(0.05)
        return outputs.mean() * (float("nan") if self._struck("nan") else 1.0)

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        return outputs.mean().item()

    def _file(self, fault: str) -> Path:
        """Return where a fault is ordered: not by a parameter, since files that a spec names must not change."""
        home = Path(os.environ.get("FLWR_HOME", "/not/in/a/deployment"))  # .../up/homes/node-1
        return home.parents[2] / "orders" / f"{home.name}.{fault}"

    def _struck(self, fault: str) -> bool:
        """Return whether a fault was ordered; it happens once."""
        found = self._file(fault).exists()
        self._file(fault).unlink(missing_ok=True)
        return found
