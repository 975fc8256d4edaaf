"""What a participant is asked for and sends back, and what an aggregation must offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from ehfl.history import Traffic

# What an aggregation remembers: tensors, and `Rows` with a vector for each client, by name. It is checkpointed with the
# model, bit for bit.
State = dict[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Assignment:
    """What a participant gets for its K steps: plain numbers, so that they can be sent to a device."""

    start: Tensor  # the model that it starts from, (n_params,)
    pull: float = 0.0  # pull * (y - start) is added to each gradient at y
    shift: Tensor | None = None  # is added to each gradient, (n_params,)


Assign = Callable[[int], Assignment]  # what each client gets in a round


@dataclass(frozen=True, eq=False, slots=True)
class Update:
    """What came of a client's K steps in one round."""

    client: int
    start: Tensor  # the model that was sent out, (n_params,): x_t, unless the aggregation assigns another
    weights: Tensor  # x_{t,K}^i, (n_params,), the model that came back
    loss: float  # mean over its minibatches
    steps: int  # K
    examples: int  # D_i, how many the client holds
    eta: float = 0.0  # eta_t, the step size
    weight: float = 1.0  # of this turn, where the scheduler brings weights
    start_loss: float = 0.0  # of its first minibatch, at the start

    @property
    def delta(self) -> Tensor:
        """Delta_i = x_{t,K}^i - start, (n_params,)."""
        return self.weights - self.start


class Aggregation(Protocol):
    """Turns x_t and the updates of a round into x_{t+1}. A frozen value: what it remembers goes in and comes out.

    It may have more to say. `assign(x, client, state)` returns the `Assignment` of a participant, where that is more
    than x_t; `share(examples)` its weight in the training loss that a round reports; the class attributes `models_down`
    and `models_up` how many models a turn sends each way, where that is not one.
    """

    def init(self, n_clients: int, n_params: int) -> State:
        """Return what it remembers before the first round."""
        ...

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x_{t+1} and what is remembered after the round; neither x nor the state given may be changed.

        Updates come one at a time, in the order of the clients, while they are trained: an aggregation that keeps none
        of them needs the memory of one. It is called for empty rounds, too.
        """
        ...


def assignment_of(aggregation: Aggregation, x: Tensor, client: int, state: State) -> Assignment:
    """Return what a participant gets: x_t, unless the aggregation says otherwise."""
    assign = getattr(aggregation, "assign", None)
    return Assignment(x) if assign is None else assign(x, client, state)


def share_of(aggregation: Aggregation, examples: int) -> float:
    """Return the weight of a client with so many examples in the training loss that a round reports.

    It is 1, and the loss a plain mean over the participants, unless the aggregation has a method `share(examples)`.
    """
    share = getattr(aggregation, "share", None)
    return 1 if share is None else float(share(examples))


def traffic_of(aggregation: Aggregation, n_params: int) -> Traffic:
    """Return what a turn sends each way."""
    return Traffic(n_params, getattr(aggregation, "models_down", 1), getattr(aggregation, "models_up", 1))


def wants_weights(aggregation: Aggregation) -> bool:
    """Return whether it goes by the weights that some schedulers bring; it says so by a class attribute."""
    return bool(getattr(aggregation, "wants_weights", False))


def wants_probabilities(aggregation: Aggregation) -> bool:
    """Return whether it must be told how likely each client is to take part, by its method `informed(probabilities)`.

    It says so by an attribute of that name. Participation is known before training, so whoever knows fleet and
    scheduler can tell; `train` itself, which knows neither, refuses such an aggregation.
    """
    return bool(getattr(aggregation, "wants_probabilities", False))


def informed(aggregation: Aggregation, probabilities: Sequence[float]) -> Aggregation:
    """Return the aggregation with these probabilities, one per client, if it wants any."""
    if not wants_probabilities(aggregation):
        return aggregation
    knowing: Aggregation = aggregation.informed(probabilities)  # type: ignore[attr-defined]  # see above
    return knowing
