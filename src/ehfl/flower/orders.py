"""What the server of a run asks its nodes: for their energy, and to train what the aggregation assigns to each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from flwr.app import RecordDict
from torch import Tensor

from ehfl.flower.messages import Request, Weights
from ehfl.learning.aggregation import Assign, Assignment


@dataclass(frozen=True, slots=True)
class Orders:
    """The contents of a run's messages to its nodes."""

    token: str  # by which a node's account knows the run
    arm: str  # its label
    seed: int
    digest: str  # of the run, which a node compares with that of its own spec
    mains_powered: bool

    def report(self, t: int) -> RecordDict:
        """Return the question for a node's energy in round t."""
        return self._request(t).content()

    def train(
        self, t: int, eta: float, assign: Assign, steps: Mapping[int, int] | None = None
    ) -> Callable[[int], RecordDict]:
        """Return what makes the order of a client in round t, when it is asked for: K local steps, or so many.

        Clients one after the other that are assigned the same get the very same content, whose model was put into bytes
        once; of those that differ in the rest alone (SCAFFOLD's) the model's bytes are the same.
        """
        request = replace(self._request(t), eta=eta, mains_powered=self.mains_powered)
        return _Training(request, assign, steps or {})

    def _request(self, t: int) -> Request:
        return Request(self.token, t, self.arm, self.seed, self.digest)


class _Training:
    """Remembers what it has made last, to use it again."""

    def __init__(self, request: Request, assign: Assign, steps: Mapping[int, int]) -> None:
        self._request, self._assign, self._steps = request, assign, steps
        self._last: tuple[Assignment, int, RecordDict] | None = None

    def __call__(self, client: int) -> RecordDict:
        given, other, steps = self._assign(client), None, self._steps.get(client, 0)
        if self._last is not None and self._last[0].start is given.start:
            before, taken, other = self._last
            if before.shift is given.shift and before.pull == given.pull and taken == steps:
                return other
        shift = None if given.shift is None else as_weights(given.shift)
        start, pull = as_weights(given.start), float(given.pull)
        request = replace(self._request, weights=start, pull=pull, shift=shift, steps=steps)
        self._last = given, steps, request.content(other)
        return self._last[2]


def as_weights(vector: Tensor) -> Weights:
    """Return a vector as messages carry it."""
    weights: Weights = vector.detach().to("cpu", torch.float32).numpy()
    return weights
