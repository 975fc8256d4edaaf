"""The server's half of a round: x_t goes out, an aggregation makes x_{t+1} of what comes back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ehfl.history import LARGEST
from ehfl.learning.aggregation import Aggregation, Assign, State, Update, assignment_of, share_of
from ehfl.learning.flat import FlatModel
from ehfl.learning.saved_state import on_device
from ehfl.learning.update_spread import UpdateSpread
from ehfl.validation import UserError, at


class Diverged(UserError, ArithmeticError):
    """The loss or the model is no longer finite."""


class Server:
    """Holds x_t, in a model that can be evaluated, and what the aggregation remembers.

    With the mean and clients in this process, a round equals `reference_round` up to float32 rounding.
    """

    def __init__(self, model: FlatModel, aggregation: Aggregation, n_clients: int) -> None:
        self.model, self.aggregation = model, aggregation
        # An aggregation need not know of devices: what it remembers follows the model to its own.
        with at("aggregation"):
            started = aggregation.init(n_clients, model.weights.numel())
        self.state: State = on_device(started, model.weights.device)

    def play(self, t: int, train: Callable[[Assign], Iterator[Update]]) -> Heard:
        """Turn the model from x_t into x_{t+1}, by what `train` makes of each participant's assignment."""
        # In one process the model is also where every client trains, so x_t is kept apart while they do.
        x = self.model.weights.clone()
        version = x._version  # torch counts the changes in place
        assign = partial(assignment_of, self.aggregation, x, state=self.state)
        heard = Heard(train(assign), self.aggregation)
        # Empty rounds go through the aggregation, too: one with a memory may move the model in them.
        after, self.state = self.aggregation.apply(x, heard, self.state)
        name = f"{type(self.aggregation).__name__}.apply"
        if x._version != version:
            raise UserError(f"{name} must leave x as it is: clients that train later would start from another model")
        if not heard.all:
            raise UserError(f"{name} must go through all updates once, and stopped after {len(heard.losses)}")
        if after.shape != x.shape:  # torch would spread a single number over all weights
            raise UserError(f"{name} must return a model of shape {tuple(x.shape)}, got {tuple(after.shape)}")
        self.model.weights.copy_(after)
        self._check_finite(heard.mean_loss(), t)
        return heard

    def _check_finite(self, loss: float | None, t: int) -> None:
        """Say that training has diverged where it has; an aggregation with a memory can do so in an empty round."""
        if loss is not None and not abs(loss) <= LARGEST:  # or NaN
            raise Diverged(f"training loss is {loss} in round {t}: try a smaller step size or gradient clipping")
        # A sum is one number to fetch from the device, and it is not finite if any weight is not.
        if not math.isfinite(float(self.model.weights.sum())):
            raise Diverged(f"the model is not finite after round {t}: try a smaller step size or gradient clipping")


class Heard:
    """The updates of a round, gone through once: a client is trained when the aggregation asks for its update.

    Its model can be forgotten before the next one's comes: the mean needs the memory of two, however many take part,
    and their spread that of one more.
    """

    def __init__(self, updates: Iterator[Update], aggregation: Aggregation) -> None:
        self._updates, self._aggregation = updates, aggregation
        self.losses: list[float] = []  # of each update, in the order of the clients
        self.steps: list[int] = []  # likewise
        self.all = False  # whether the aggregation has gone through all of them
        self._start_losses: list[float] = []
        self._shares: list[float] = []
        self._spread = UpdateSpread()

    def __iter__(self) -> Heard:
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
        self._spread.add(update)  # before the aggregation has it, which may do with it what it likes
        return update

    def mean_loss(self) -> float | None:
        """Return the mean loss by the aggregation's shares, None if nobody took part."""
        return _mean(self.losses, self._shares)

    def measured(self) -> dict[str, float]:
        """Return what the noise scale is measured from, as a record names it, where it is there and can be recorded.

        An aggregation may leave out an update that is not finite, so that the round goes on and these lack a value.
        """
        start = _mean(self._start_losses, self._shares)
        found = {"start_loss": start, "update_square": self._spread.square, "update_spread": self._spread.spread}
        return {name: value for name, value in found.items() if value is not None and abs(value) <= LARGEST}


def _mean(values: Sequence[float], shares: Sequence[float]) -> float | None:
    """Return the mean of values with these shares, a plain one if all are 0, and None of no values."""
    if not values:
        return None
    total = weight = 0.0
    for value, share in zip(values, shares, strict=True):
        total += share * value
        weight += share
    return total / weight if weight else sum(values) / len(values)
