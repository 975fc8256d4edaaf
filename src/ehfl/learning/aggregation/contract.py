"""What a participant sends back, and what an aggregation must offer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

State = dict[str, Tensor]  # what an aggregation remembers, by name; checkpointed with the model, bit for bit


@dataclass(frozen=True, eq=False, slots=True)
class Update:
    """What came of a client's K steps in one round."""

    client: int
    start: Tensor  # x_t, (n_params,), the model that was sent out
    weights: Tensor  # x_{t,K}^i, (n_params,), the model that came back
    loss: float  # mean over its minibatches
    steps: int  # K
    examples: int  # D_i, how many the client holds

    @property
    def delta(self) -> Tensor:
        """Delta_i = x_{t,K}^i - x_t, (n_params,)."""
        return self.weights - self.start


class Aggregation(Protocol):
    """Turns x_t and the updates of a round into x_{t+1}. A frozen value: what it remembers goes in and comes out."""

    def init(self, n_clients: int, n_params: int) -> State:
        """Return what it remembers before the first round."""
        ...

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x_{t+1} and what is remembered after the round; neither x nor the state given may be changed.

        Updates come one at a time, in the order of the clients, while they are trained: an aggregation that keeps none
        of them needs the memory of one. It is called for empty rounds, too.
        """
        ...


def share_of(aggregation: Aggregation, examples: int) -> float:
    """Return the weight of a client with so many examples in the training loss that a round reports.

    It is 1, and the loss a plain mean over the participants, unless the aggregation has a method `share(examples)`.
    """
    share = getattr(aggregation, "share", None)
    return 1 if share is None else float(share(examples))
