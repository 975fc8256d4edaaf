"""The interface of an aggregation, and what participants receive (`Order`) and send back (`Update`): plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from ehfl.arrays import Clients, IntArray
from ehfl.runs import Traffic

# An aggregation's state: tensors, and `Rows` with one vector per client, by name. Checkpoints store it bit for bit.
State = dict[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Assignment:
    """The data that a participant receives for its K steps: plain numbers, so that they can be sent to a device."""

    start: Tensor  # the model that it starts from, (n_params,)
    pull: float = 0.0  # pull * (y - start) is added to each gradient at y
    shift: Tensor | None = None  # is added to each gradient, (n_params,)


@dataclass(frozen=True, eq=False, slots=True)
class Turns:
    """The clients that are asked to train in a round, ascending, and the number of local steps of each."""

    clients: Clients  # (n_turns,)
    steps: IntArray  # (n_turns,)
    wanted: int  # number of updates to use; the other clients replace those that fail


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """A client's turn in one round: the model to start from, how to train, and the seed of its minibatches.

    Each gradient g at y becomes g + pull (y - start) + shift; FedProx uses `pull`, SCAFFOLD uses `shift`.
    """

    client: int
    round: int
    start: Tensor  # (n_params,)
    steps: int  # K, or fewer where the client cannot pay for all
    eta: float  # eta_t
    seed: int = 0  # the run's
    pull: float = 0.0
    shift: Tensor | None = None  # (n_params,)
    buffers: Tensor | None = None  # to start from, (n_buffers,); None for a model without


@dataclass(frozen=True, eq=False, slots=True)
class Update:
    """The result of a client's K steps in one round."""

    client: int
    start: Tensor  # the model that was sent out, (n_params,): x_t, unless the aggregation assigns another
    weights: Tensor  # x_{t,K}^i, (n_params,), the model that came back
    loss: float  # mean over its minibatches
    steps: int  # K
    examples: int  # D_i, how many the client holds
    eta: float = 0.0  # eta_t, the step size
    weight: float = 1.0  # of this turn, where the scheduler brings weights
    start_loss: float = 0.0  # of its first minibatch, at the start
    round: int = 0  # t
    seed: int = 0  # of the run; with round and client the key of a random stream
    buffers: Tensor | None = None  # of its model, (n_buffers,): the server averages them, aggregations do not

    @property
    def delta(self) -> Tensor:
        """Delta_i = x_{t,K}^i - start, (n_params,)."""
        return self.weights - self.start


class Aggregation(Protocol):
    """Computes x_{t+1} from x_t and the updates of a round. It is immutable: state is an argument and a return value.

    Optional members: `assign(x, client, state)` returns the `Assignment` of a participant, by default x_t;
    `share(examples)` its weight in a round's training loss, by default 1; the class attributes `models_down` and
    `models_up` are the numbers of models that a turn sends each way, by default 1.
    """

    def init(self, n_clients: int, n_params: int) -> State:
        """Return the state before the first round."""
        ...

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x_{t+1} and the new state; do not change `x` or `state` in place.

        `updates` yields one update at a time, in the order of the clients, while clients are trained: an aggregation
        that stores none of them needs the memory of one. `apply` is called for empty rounds, too.
        """
        ...


def assignment_of(aggregation: Aggregation, x: Tensor, client: int, state: State) -> Assignment:
    """Return the participant's assignment: x_t, unless the aggregation has a method `assign`."""
    assign = getattr(aggregation, "assign", None)
    return Assignment(x) if assign is None else assign(x, client, state)


def share_of(aggregation: Aggregation, examples: int) -> float:
    """Return the weight of a client with `examples` examples in a round's training loss.

    The default is 1, a plain mean over the participants; an aggregation can define `share(examples)`.
    """
    share = getattr(aggregation, "share", None)
    return 1 if share is None else float(share(examples))


def traffic_of(aggregation: Aggregation, n_params: int) -> Traffic:
    """Return the bytes that a turn sends each way."""
    return Traffic(n_params, getattr(aggregation, "models_down", 1), getattr(aggregation, "models_up", 1))


def wants_weights(aggregation: Aggregation) -> bool:
    """Return whether it needs the scheduler's weights, as declared by its class attribute `wants_weights`."""
    return bool(getattr(aggregation, "wants_weights", False))


def wants_probabilities(aggregation: Aggregation) -> bool:
    """Return whether it needs each client's probability to take part, passed to its `informed(probabilities)`.

    It declares this by an attribute `wants_probabilities`. The probabilities follow from fleet and scheduler; `train`
    knows neither, so it raises an error for an aggregation that still needs them.
    """
    return bool(getattr(aggregation, "wants_probabilities", False))


def informed(aggregation: Aggregation, probabilities: Sequence[float]) -> Aggregation:
    """Return the aggregation with these probabilities, one per client, if it needs them."""
    if not wants_probabilities(aggregation):
        return aggregation
    knowing: Aggregation = aggregation.informed(probabilities)  # type: ignore[attr-defined]  # see above
    return knowing
