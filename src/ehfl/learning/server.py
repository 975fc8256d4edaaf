"""The server's half of a round: it sends x_t, and an aggregation computes x_{t+1} from the updates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ehfl.learning.aggregation import Aggregation, State, Update, assignment_of, share_of
from ehfl.learning.engine.flat import FlatModel
from ehfl.learning.orders import Order, Turns
from ehfl.learning.saved import on_device
from ehfl.learning.update_spread import UpdateSpread
from ehfl.runs import LARGEST
from ehfl.validation import UserError, at


class Diverged(UserError, ArithmeticError):
    """The loss or the model is no longer finite."""


class Server:
    """Holds x_t, in a model that can be evaluated, and the aggregation's state.

    With `Mean` and clients in this process, a round equals `reference_round` up to float32 rounding.
    """

    def __init__(self, model: FlatModel, aggregation: Aggregation, n_clients: int, seed: int = 0) -> None:
        self.model, self.aggregation, self.seed = model, aggregation, seed
        self._x = model.weights  # x_t; from `orders` to the end of the round a copy apart from the model
        # Aggregations ignore devices, so the server moves their state to the model's device.
        with at("aggregation"):
            started = aggregation.init(n_clients, model.weights.numel())
        self.state: State = on_device(started, model.weights.device)

    def orders(self, t: int, turns: Turns, eta: float) -> Iterator[Order]:
        """Return an iterator over the orders of round t; each is made on demand, to save memory."""
        self._x = self.model.weights.clone()  # with one worker, clients train in the server's own model
        return (self._order(t, *turn, eta) for turn in zip(turns.clients.tolist(), turns.steps.tolist(), strict=True))

    def _order(self, t: int, client: int, steps: int, eta: float) -> Order:
        given = assignment_of(self.aggregation, self._x, client, self.state)
        return Order(client, t, given.start, steps, eta, self.seed, given.pull, given.shift)

    def absorb(self, t: int, updates: Iterator[Update]) -> Received:
        """Replace x_t by x_{t+1}, computed from the updates of round t."""
        x = self._x
        version = x._version  # torch increments it on every in-place change
        received = Received(updates, self.aggregation)
        # Apply empty rounds too: an aggregation with a memory may move the model in them.
        after, self.state = self.aggregation.apply(x, received, self.state)
        name = f"{type(self.aggregation).__name__}.apply"
        if x._version != version:
            raise UserError(f"{name} must not change x")
        if not received.all:
            raise UserError(f"{name} must go through all updates once, and stopped after {len(received.losses)}")
        if after.shape != x.shape:  # torch would broadcast a single number over all weights
            raise UserError(f"{name} must return a model of shape {tuple(x.shape)}, got {tuple(after.shape)}")
        self.model.weights.copy_(after)
        self._check_finite(received.mean_loss(), t)
        return received

    def _check_finite(self, loss: float | None, t: int) -> None:
        """Raise Diverged if the loss or the model is not finite; empty rounds with a memory can diverge too."""
        if loss is not None and not abs(loss) <= LARGEST:  # or NaN
            raise Diverged(f"training loss is {loss} in round {t}: try a smaller step size or gradient clipping")
        # The sum is not finite if any weight is not, and it is only one number to copy from the device.
        if not math.isfinite(float(self.model.weights.sum())):
            raise Diverged(f"the model is not finite after round {t}: try a smaller step size or gradient clipping")


class Received:
    """A single-pass iterator over the updates of a round: a client is trained when the aggregation asks for its update.

    Each update can be freed before the next one arrives: the mean needs the memory of two models for any number of
    participants, and the spread of the updates needs one more.
    """

    def __init__(self, updates: Iterator[Update], aggregation: Aggregation) -> None:
        self._updates, self._aggregation = updates, aggregation
        self.losses: list[float] = []  # of each update, in the order of the clients
        self.steps: list[int] = []  # likewise
        self.all = False  # whether the aggregation has read all updates
        self._start_losses: list[float] = []
        self._shares: list[float] = []
        self._spread = UpdateSpread()

    def __iter__(self) -> Received:
        return self

    def __next__(self) -> Update:
        update = next(self._updates, None)
        if update is None:
            self.all = True
            raise StopIteration
        self.losses.append(update.loss)
        self.steps.append(update.steps)
        self._start_losses.append(update.start_loss)
        self._shares.append(share_of(self._aggregation, update.examples))
        self._spread.add(update)  # before the aggregation, which may change the update's tensors
        return update

    def mean_loss(self) -> float | None:
        """Return the mean loss weighted by the aggregation's shares, None if no client took part."""
        return _mean(self.losses, self._shares)

    def measured(self) -> dict[str, float]:
        """Return the inputs of the noise scale under their record names, without values that are missing or not finite.

        An aggregation may skip an update that is not finite, so a value can be missing although the round is valid.
        """
        start = _mean(self._start_losses, self._shares)
        found = {"start_loss": start, "update_square": self._spread.square, "update_spread": self._spread.spread}
        return {name: value for name, value in found.items() if value is not None and abs(value) <= LARGEST}


def _mean(values: Sequence[float], shares: Sequence[float]) -> float | None:
    """Return the weighted mean of values, the plain mean if all shares are 0, and None without values."""
    if not values:
        return None
    total = weight = 0.0
    for value, share in zip(values, shares, strict=True):
        total += share * value
        weight += share
    return total / weight if weight else sum(values) / len(values)
