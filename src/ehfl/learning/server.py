"""The server's half of a round: it sends x_t, and an aggregation computes x_{t+1} from the updates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import Aggregation, Order, State, Turns, Update, assignment_of, share_of
from ehfl.learning.aggregation.mean import exact_on
from ehfl.learning.engine.flat import FlatModel
from ehfl.learning.memory import Rows, on_device
from ehfl.runs import LARGEST
from ehfl.validation import UserError, at

_LOCAL = "server/buffers"  # each client's own, in the state beside that of the aggregation


class Diverged(UserError, ArithmeticError):
    """The loss or the model is no longer finite."""


class Server:
    """Holds x_t, in a model that can be evaluated, and the aggregation's state.

    With `Mean` and clients in this process, a round equals `reference_round` up to float32 rounding.
    """

    def __init__(
        self, model: FlatModel, aggregation: Aggregation, n_clients: int, seed: int = 0, *, buffers: str = "mean"
    ) -> None:
        self.model, self.aggregation, self.seed = model, aggregation, seed
        self._x = model.weights  # x_t; from `orders` to the end of the round a copy apart from the model
        # Aggregations ignore devices, so the server moves their state to the model's device.
        with at("aggregation"):
            started = aggregation.init(n_clients, model.weights.numel())
        self.state: State = on_device(started, model.weights.device)
        self._buffers = model.buffers()  # those of x_t
        if buffers == "local" and self._buffers is not None:
            self.state[_LOCAL] = Rows(n_clients, self._buffers.numel())
            self.state[_LOCAL].put(self._buffers, range(n_clients))

    def orders(self, t: int, turns: Turns, eta: float) -> Iterator[Order]:
        """Return an iterator over the orders of round t; each is made on demand, to save memory."""
        # With one worker, clients train in the server's own model.
        self._x, self._buffers = self.model.weights.clone(), self.model.buffers()
        return (self._order(t, *turn, eta) for turn in zip(turns.clients.tolist(), turns.steps.tolist(), strict=True))

    def _order(self, t: int, client: int, steps: int, eta: float) -> Order:
        given = assignment_of(self.aggregation, self._x, client, self.state)
        own = self.state[_LOCAL][client].to(self._x.device) if _LOCAL in self.state else self._buffers
        return Order(client, t, given.start, steps, eta, self.seed, given.pull, given.shift, own)

    def absorb(self, t: int, updates: Iterator[Update]) -> Received:
        """Replace x_t by x_{t+1}, computed from the updates of round t."""
        x = self._x
        version = x._version  # torch increments it on every in-place change
        own = {_LOCAL: self.state[_LOCAL].copy()} if _LOCAL in self.state else {}
        received = Received(updates, self.aggregation, own.get(_LOCAL))
        # Apply empty rounds too: an aggregation with a memory may move the model in them.
        state = {name: value for name, value in self.state.items() if name != _LOCAL}
        after, state = self.aggregation.apply(x, received, state)
        self.state = {**state, **own}
        name = f"{type(self.aggregation).__name__}.apply"
        if x._version != version:
            raise UserError(f"{name} must not change x")
        if not received.all:
            raise UserError(f"{name} must go through all updates once, and stopped after {len(received.losses)}")
        if after.shape != x.shape:  # torch would broadcast a single number over all weights
            raise UserError(f"{name} must return a model of shape {tuple(x.shape)}, got {tuple(after.shape)}")
        self._buffers = received.mean_buffers(self._buffers)
        self.model.put(after, self._buffers)
        self._check_finite(received.mean_loss(), t)
        return received

    def _check_finite(self, loss: float | None, t: int) -> None:
        """Raise Diverged if the loss or the model is not finite; empty rounds with a memory can diverge too."""
        if loss is not None and not abs(loss) <= LARGEST:  # or NaN
            raise Diverged(f"training loss is {loss} in round {t}: try a smaller step size or gradient clipping")
        # The sum is not finite if any weight is not, and it is only one number to copy from the device.
        total = self.model.weights.sum() + (0 if self._buffers is None else self._buffers.sum())
        if not math.isfinite(float(total)):
            raise Diverged(f"the model is not finite after round {t}: try a smaller step size or gradient clipping")


class Received:
    """A single-pass iterator over the updates of a round: a client is trained when the aggregation asks for its update.

    Each update can be freed before the next one arrives: the mean needs the memory of two models for any number of
    participants, and the spread of the updates needs one more.
    """

    def __init__(self, updates: Iterator[Update], aggregation: Aggregation, local: Rows | None = None) -> None:
        self._updates, self._aggregation, self._local = updates, aggregation, local
        self._buffers: Tensor | None = None  # their sum, weighted by the shares
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
        self._add_buffers(update)
        self._spread.add(update)  # before the aggregation, which may change the update's tensors
        return update

    def _add_buffers(self, update: Update) -> None:
        """Add the buffers of a client to the sum, and remember them where each client keeps its own."""
        if update.buffers is None:
            return
        if self._local is not None:
            self._local[update.client] = update.buffers
        if self._buffers is None:
            self._buffers = torch.zeros_like(update.buffers, dtype=exact_on(update.buffers.device))
        self._buffers.add_(update.buffers, alpha=self._shares[-1])

    def mean_buffers(self, before: Tensor | None) -> Tensor | None:
        """Return the clients' mean buffers, weighted as their losses are; those before if there are none."""
        total = sum(self._shares)
        return before if self._buffers is None or not total else (self._buffers / total).float()

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


class UpdateSpread:
    """|m|^2 of the mean update m and the updates' spread about it, with one vector in memory (Welford 1962).

    With m_k the mean of the first k updates Delta_1, ..., Delta_k, and S_k the sum of |Delta_i - m_k|^2 over them:
    m_k = m_{k-1} + (Delta_k - m_{k-1})/k and S_k = S_{k-1} + (1 - 1/k) |Delta_k - m_{k-1}|^2. For independent and
    identically distributed updates, S_n/(n - 1) is an unbiased estimate of their variance, and |m_n|^2 - S_n/(n(n - 1))
    of the square of their expectation. The ratio is the noise scale (McCandlish et al. 2018, arXiv 1812.06162), in
    clients.

    >>> spread, x = UpdateSpread(), torch.zeros(2)
    >>> for client, weights in enumerate(([3.0, 0.0], [1.0, 4.0])):
    ...     spread.add(Update(client, x, torch.tensor(weights), loss=0.5, steps=1, examples=9))
    >>> round(spread.square, 9), round(spread.spread, 9)  # the mean is (2, 2); both lie (1, 2) away from it
    (8.0, 10.0)
    """

    def __init__(self) -> None:
        self._count = 0
        self._mean: Tensor | None = None  # m_k, (n_params,)
        self._squares = 0.0  # S_k

    def add(self, update: Update) -> None:
        """Add one update, the difference between the returned model and the client's start."""
        away = update.delta  # a new vector, so the in-place operations below change no model
        self._count += 1
        if self._mean is None:
            self._mean = away
        else:
            away.sub_(self._mean)
            self._mean.add_(away, alpha=1 / self._count)
            self._squares += (1 - 1 / self._count) * _square(away)

    @property
    def square(self) -> float | None:
        """|m_n|^2, None without an update."""
        return None if self._mean is None else _square(self._mean)

    @property
    def spread(self) -> float | None:
        """S_n/(n - 1), None with fewer than two updates."""
        return None if self._count < 2 else self._squares / (self._count - 1)


def _square(vector: Tensor) -> float:
    """Return |v|^2, summed in float64 if the device supports it: squares of float32 may overflow float32."""
    return float(torch.linalg.vector_norm(vector, dtype=exact_on(vector.device))) ** 2
