"""The server's requests to its nodes: for their energy, and to train their assignments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from flwr.app import RecordDict
from torch import Tensor

from ehfl.flower.wire.messages import Request, Weights
from ehfl.learning.orders import Order


@dataclass(frozen=True, slots=True)
class Orders:
    """The contents of a run's messages to its nodes."""

    token: str  # of the run in the nodes' accounts
    arm: str  # its label
    seed: int
    digest: str  # of the run; a node compares it with that of its own spec
    mains_powered: bool

    def report(self, t: int) -> RecordDict:
        """Return the request for a node's energy in round t."""
        return self._request(t).content()

    def train(self, orders: Mapping[int, Order], *, by_steps: bool = False) -> Callable[[int], RecordDict]:
        """Return a function from a client to its message; with `by_steps` the message sets the number of local steps.

        Consecutive clients with equal orders share one content object, whose model is serialised once; orders that
        differ only outside the model (SCAFFOLD) share the model's bytes.
        """
        return _Training(self, orders, by_steps)

    def request(self, order: Order, steps: int) -> Request:
        """Return the order as a request."""
        shift, buffers = (None if one is None else as_weights(one) for one in (order.shift, order.buffers))
        return replace(
            self._request(order.round), eta=order.eta, mains_powered=self.mains_powered,
            weights=as_weights(order.start), pull=float(order.pull), shift=shift, steps=steps,
            buffers=buffers,
        )  # fmt: skip

    def _request(self, t: int) -> Request:
        return Request(self.token, t, self.arm, self.seed, self.digest)


class _Training:
    """Makes requests and reuses the last one where possible."""

    def __init__(self, orders: Orders, by_client: Mapping[int, Order], by_steps: bool) -> None:
        self._orders, self._by_client, self._by_steps = orders, by_client, by_steps
        self._last: tuple[Order, int, RecordDict] | None = None

    def __call__(self, client: int) -> RecordDict:
        order, other = self._by_client[client], None
        steps = order.steps if self._by_steps else 0
        if self._last is not None and self._last[0].start is order.start:
            before, taken, other = self._last
            alike = before.shift is order.shift and before.buffers is order.buffers
            if alike and before.pull == order.pull and taken == steps:
                return other
        self._last = order, steps, self._orders.request(order, steps).content(other)
        return self._last[2]


def as_weights(vector: Tensor) -> Weights:
    """Return a vector in the format of messages."""
    weights: Weights = vector.detach().to("cpu", torch.float32).numpy()
    return weights
