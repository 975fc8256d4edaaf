"""Clients with quadratics of their own, and an aggregation of ours played on them, without an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ehfl.arrays import FloatArray
from ehfl.learning import Aggregation, State, Update
from ehfl.learning.aggregation.contract import assignment_of

Turns = Sequence[Sequence[int]]  # who takes part in each round


@dataclass(frozen=True, eq=False)
class Bowls:
    """Clients that take K steps of SGD on f_i(y) = (a_i/2) |y - b_i|^2.

    Noise on a gradient depends on client, round and step alone: whoever asks for it again gets the same.
    """

    curvatures: FloatArray  # a_i, (n_clients, 1)
    centres: FloatArray  # b_i, (n_clients, dimension)
    steps: int  # K
    noise: float = 0.0
    uneven: bool = False  # whether client i takes i steps more

    @property
    def n_clients(self) -> int:
        return len(self.centres)

    def steps_of(self, i: int) -> int:
        """Return k_i."""
        return self.steps + (i if self.uneven else 0)

    def examples_of(self, i: int) -> int:
        """Return D_i."""
        return 1 + 2 * i

    def weight_of(self, i: int) -> float:
        """Return the weight that a scheduler gives client i."""
        return 1.5 - 0.4 * i

    def gradient(self, i: int, y: FloatArray, t: int, k: int) -> FloatArray:
        wobble = np.cos(12.9 * i + 78.2 * t + 37.7 * k + np.arange(y.size))
        found: FloatArray = self.curvatures[i] * (y - self.centres[i]) + self.noise * wobble
        return found

    def trained(
        self, i: int, x: FloatArray, t: int, eta: float, *, pull: float = 0.0, shift: float | FloatArray = 0.0
    ) -> FloatArray:
        """Return where the client's steps from x lead."""
        y = x
        for k in range(self.steps_of(i)):
            y = y - eta * (self.gradient(i, y, t, k) + pull * (y - x) + shift)
        return y


def played(
    aggregation: Aggregation, bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float]
) -> tuple[FloatArray, State]:
    """Return the models that an aggregation makes of these clients, x_1 to x_T, and what it remembers."""
    model, state, found = torch.from_numpy(x), aggregation.init(bowls.n_clients, x.size), []
    for t, (clients, eta) in enumerate(zip(turns, etas, strict=True)):
        model, state = aggregation.apply(model, _updates(aggregation, bowls, model, state, clients, t, eta), state)
        found.append(model.numpy())
    return np.array(found), state


def _updates(
    aggregation: Aggregation, bowls: Bowls, x: torch.Tensor, state: State, clients: Sequence[int], t: int, eta: float
) -> Iterator[Update]:
    """Yield what each client makes of its assignment."""
    for i in clients:
        given = assignment_of(aggregation, x, i, state)
        shift = 0.0 if given.shift is None else given.shift.numpy()
        end = bowls.trained(i, given.start.numpy(), t, eta, pull=given.pull, shift=shift)
        model, examples, weight = torch.from_numpy(end), bowls.examples_of(i), bowls.weight_of(i)
        yield Update(i, given.start, model, 0.0, bowls.steps_of(i), examples, eta, weight)
