"""Aggregations that wrap another one, `of`: local rules and server optimisers, which compose with any aggregation.

    fedprox                                             the mean, with a proximal term at the clients
    {name = "fedadam", of = "mifa"}                     Adam along MIFA's steps
    {name = "fedavgm", of = {name = "fedprox", mu = 1}} momentum along FedProx's steps

Requests to the inner aggregation are forwarded: probabilities, weights, corrections, shares, traffic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import (
    Aggregation,
    Assignment,
    State,
    Update,
    assignment_of,
    informed,
    share_of,
    wants_probabilities,
    wants_weights,
)
from ehfl.learning.aggregation.mean import moved
from ehfl.learning.memory import Rows
from ehfl.validation import number_in, positive_number

_INNER = "of/"  # prefix of the inner aggregation's state


@dataclass(frozen=True)
class Around(ABC):
    """A computation before or after another aggregation."""

    of: str | Mapping[str, Any] | Aggregation = field(default="mean", kw_only=True)

    def __post_init__(self) -> None:
        self._inner  # noqa: B018  # raises an error for a bad `of` at construction

    @cached_property  # asked for by every order and every round
    def _inner(self) -> Aggregation:
        from ehfl.learning.aggregation import AGGREGATIONS  # which imports these classes

        return AGGREGATIONS.make(self.of, "of")

    @property
    def wants_probabilities(self) -> bool:
        """Whether the inner one needs each client's probability to take part."""
        return wants_probabilities(self._inner)

    @property
    def wants_weights(self) -> bool:
        """Whether the inner one needs the scheduler's weights."""
        return wants_weights(self._inner)

    @property
    def models_down(self) -> int:
        """The number of models that a participant receives per round."""
        return getattr(self._inner, "models_down", 1)

    @property
    def models_up(self) -> int:
        """The number of models that a participant sends per round."""
        return getattr(self._inner, "models_up", 1)

    def informed(self, probabilities: Sequence[float]) -> Around:
        """Return a copy whose inner aggregation has these probabilities."""
        return replace(self, of=informed(self._inner, probabilities))

    def share(self, examples: int) -> float:
        """Return the inner one's share of a client in the training loss."""
        return share_of(self._inner, examples)

    def assign(self, x: Tensor, client: int, state: State) -> Assignment:
        """Return what the inner one assigns."""
        return assignment_of(self._inner, x, client, _of(state))

    def init(self, n_clients: int, n_params: int) -> State:
        """Return the inner one's initial state."""
        return _named(self._inner.init(n_clients, n_params))

    @abstractmethod
    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x_{t+1} and the new state."""


@dataclass(frozen=True)
class FedProx(Around):
    """The plain mean of models, each trained on f_i(y) + (mu / 2) |y - x_t|^2: mu (y - x_t) is added to each gradient.

    T. Li et al., "Federated optimization in heterogeneous networks", MLSys 2020, arXiv 1812.06127, algorithm 2. The
    paper draws clients in proportion to their data, and slow ones stop early; here the scheduler selects them, and all
    take K steps. With mu = 0, or with K = 1 (the first step starts from x_t), it equals the mean. `of` replaces the
    mean by another aggregation.

    An empty round leaves the model unchanged: there are no models to average.
    """

    mu: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        number_in("mu", self.mu, "[0, 1e30]")

    def assign(self, x: Tensor, client: int, state: State) -> Assignment:
        """Add the proximal term to the client's gradients."""
        given = super().assign(x, client, state)
        return replace(given, pull=given.pull + self.mu)

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the inner one's result."""
        after, inner = self._inner.apply(x, updates, _of(state))
        return after, _named(inner)


@dataclass(frozen=True)
class ByData(Around):
    """x_{t+1} = x_t + d_t / D_mean, d_t the step of `of` on updates D_i Delta_i: clients count by their examples.

    For aggregations with a memory, whose steps are linear in it: MIFA moves by sum_i D_i G_i / sum_i D_i, the mean of
    the objective f = sum_i D_i f_i / D, and FedVARP likewise. D_mean is the mean of D_i over the clients that have
    taken part so far; D_i of the others is not known yet, and they count as the mean.

    An empty round leaves the model unchanged where that of `of` does.
    """

    def init(self, n_clients: int, n_params: int) -> State:
        """Return the inner one's initial state, and 0 for D_i of each client."""
        return {"examples": torch.zeros(n_clients, dtype=torch.int64)} | super().init(n_clients, n_params)

    def share(self, examples: int) -> float:
        """Return D_i, which also weights the round's training loss."""
        return examples

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the inner one's step on weighted updates."""
        examples = state["examples"].clone()

        def weighted() -> Iterator[Update]:
            for update in updates:
                examples[update.client] = update.examples
                yield replace(update, weights=update.start + update.examples * update.delta)

        after, inner = self._inner.apply(x, weighted(), _of(state))
        heard = examples[examples > 0]
        step = len(heard) / int(heard.sum()) if len(heard) else 1.0
        return _scaled(x, after, step), {"examples": examples} | _named(inner)


@dataclass(frozen=True)
class Scaffold(Around):
    """x_{t+1} = x_t + server_step * mean of Delta_i, where each gradient at client i is corrected by c - c_i.

    At the participants c_i' = c_i - c - Delta_i / (K eta_t) (option II), and c' = c + (1/N) sum of c_i' - c_i, from
    0 on. So c_i is the mean of the gradients of i's last turn before correction, after clipping and weight decay.
    `of` replaces the mean by the step of another aggregation.

    S. P. Karimireddy et al., "SCAFFOLD: stochastic controlled averaging for federated learning", ICML 2020, arXiv
    1910.06378, algorithm 1. As published, a turn sends two models each way, x and c down, Delta_i and the change of c_i
    up, and the traffic is counted so. Here the server sends x and c - c_i and computes c_i' from Delta_i, so that
    devices need no memory.

    An empty round leaves the model unchanged, and all c_i: the paper's sums are empty.
    """

    models_down: ClassVar[int] = 2  # as published, also around an inner one that sends more
    models_up: ClassVar[int] = 2
    server_step: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Return zero control variates: c_i of each client, and c, their mean."""
        mine = {"controls": Rows(n_clients, n_params), "mean": torch.zeros(n_params, dtype=torch.float64)}
        return mine | super().init(n_clients, n_params)

    def assign(self, x: Tensor, client: int, state: State) -> Assignment:
        """Let the client correct its gradients by c - c_i."""
        given, control, mean = super().assign(x, client, state), state["controls"][client], state["mean"]
        shift = (mean - control.to(mean)).to(x.dtype)
        return replace(given, shift=shift if given.shift is None else given.shift + shift)

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the inner one's step, and the participants' new control variates."""
        controls, mean = state["controls"].copy(), state["mean"]
        change = torch.zeros_like(mean)

        def noted() -> Iterator[Update]:
            for update in updates:
                if update.eta > 0:  # a step of size 0 reveals no gradient
                    before = controls[update.client].to(mean)
                    after = before - mean - update.delta.to(mean.dtype) / (update.steps * update.eta)
                    change.add_(after - before)
                    controls[update.client] = after
                yield update

        after, inner = self._inner.apply(x, noted(), _of(state))
        mine = {"controls": controls, "mean": mean + change / controls.n_clients}
        return _scaled(x, after, self.server_step), mine | _named(inner)


@dataclass(frozen=True)
class _ServerOptimiser(Around):
    """An optimiser at the server, which uses the step of `of`, d_t = y_t - x_t, as its gradient."""

    @abstractmethod
    def _memory(self, n_params: int) -> State:
        """Return the optimiser's initial state."""

    @abstractmethod
    def _step(self, x: Tensor, d: Tensor, state: State) -> tuple[Tensor, State]:
        """Return x_{t+1} and the optimiser's new state, from d_t in the device's highest precision."""

    def init(self, n_clients: int, n_params: int) -> State:
        """Return the initial states of the optimiser and the inner aggregation."""
        return self._memory(n_params) | super().init(n_clients, n_params)

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the optimiser's step along the inner one's."""
        count = 0

        def counted() -> Iterator[Update]:
            nonlocal count
            for update in updates:
                count += 1
                yield update

        after, inner = self._inner.apply(x, counted(), _of(state))
        mine = {name: value for name, value in state.items() if not name.startswith(_INNER)}
        if count or not torch.equal(after, x):  # momentum must not move the model in an empty round
            exact = next(iter(mine.values())).dtype
            after, mine = self._step(x, after.to(exact) - x.to(exact), mine)
        return after, mine | _named(inner)


@dataclass(frozen=True)
class FedAvgM(_ServerOptimiser):
    """v_{t+1} = momentum v_t + d_t,   x_{t+1} = x_t + server_step v_{t+1},   d_t the mean of Delta_i.

    T.-M. H. Hsu, H. Qi and M. Brown, "Measuring the effects of non-identical data distribution for federated visual
    classification", arXiv 1909.06335. A momentum of 0.9 multiplies a constant direction by ten in the limit, so the
    same local step size goes ten times as far. The paper weights by data size (`of = "weighted"`); the default is the
    plain mean. d_t is the step of `of`; with momentum 0 and a server step of 1 the result equals `of`.

    An empty round leaves the model unchanged, and the velocity: there are no updates to average. The paper draws
    participants in every round; Flower's FedAvgM also skips rounds without participants.
    """

    momentum: float = 0.9
    server_step: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number_in("momentum", self.momentum, "[0, 1)")
        positive_number("server_step", self.server_step)

    def _memory(self, n_params: int) -> State:
        return {"velocity": torch.zeros(n_params, dtype=torch.float64)}

    def _step(self, x: Tensor, d: Tensor, state: State) -> tuple[Tensor, State]:
        velocity = self.momentum * state["velocity"] + d
        return moved(x, velocity, self.server_step), {"velocity": velocity}


@dataclass(frozen=True)
class _Adaptive(_ServerOptimiser):
    """What FedAdam, FedYogi and FedAdagrad share: S. J. Reddi et al., "Adaptive federated optimization", ICLR 2021."""

    server_step: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_number("server_step", self.server_step)
        number_in("beta1", self.beta1, "[0, 1)")
        number_in("beta2", self.beta2, "[0, 1)")
        positive_number("tau", self.tau)

    def _memory(self, n_params: int) -> State:
        zeros = torch.zeros(n_params, dtype=torch.float64)
        return {"mean": zeros, "square": zeros + self.tau**2}  # v_{-1} >= tau^2, algorithm 2

    def _step(self, x: Tensor, d: Tensor, state: State) -> tuple[Tensor, State]:
        mean = self.beta1 * state["mean"] + (1 - self.beta1) * d
        square = self._squares(state["square"], d * d)
        after = moved(x, mean / (square.sqrt() + self.tau), self.server_step)
        return after, {"mean": mean, "square": square}

    @abstractmethod
    def _squares(self, v: Tensor, d2: Tensor) -> Tensor:
        """Return v_t, from v_{t-1} and d_t^2."""


@dataclass(frozen=True)
class FedAdam(_Adaptive):
    """m_t = beta1 m + (1 - beta1) d_t,  v_t = beta2 v + (1 - beta2) d_t^2,  x' = x + server_step m_t/(sqrt(v_t) + tau).

    d_t is the mean of Delta_i, or the step of `of`. S. J. Reddi et al., "Adaptive federated optimization", ICLR 2021,
    arXiv 2003.00295, algorithm 2: v starts from tau^2, and there is no correction of the bias of m and v.

    An empty round leaves the model unchanged, and m and v: the paper draws participants in every round.
    """

    def _squares(self, v: Tensor, d2: Tensor) -> Tensor:
        return self.beta2 * v + (1 - self.beta2) * d2


@dataclass(frozen=True)
class FedYogi(_Adaptive):
    """As FedAdam, with v_t = v - (1 - beta2) d_t^2 sign(v - d_t^2): v changes by d_t^2 at most, however large it is.

    S. J. Reddi et al., "Adaptive federated optimization", ICLR 2021, arXiv 2003.00295, algorithm 2.

    An empty round leaves the model unchanged, and m and v: the paper draws participants in every round.
    """

    def _squares(self, v: Tensor, d2: Tensor) -> Tensor:
        return v - (1 - self.beta2) * d2 * torch.sign(v - d2)


@dataclass(frozen=True)
class FedAdagrad(_Adaptive):
    """As FedAdam, with v_t = v + d_t^2, without momentum unless beta1 is given; beta2 has no effect.

    S. J. Reddi et al., "Adaptive federated optimization", ICLR 2021, arXiv 2003.00295, algorithm 2.

    An empty round leaves the model unchanged, and m and v: the paper draws participants in every round.
    """

    beta1: float = 0.0

    def _squares(self, v: Tensor, d2: Tensor) -> Tensor:
        return v + d2


def _of(state: State) -> State:
    """Return the inner aggregation's part of a state."""
    return {name.removeprefix(_INNER): value for name, value in state.items() if name.startswith(_INNER)}


def _named(inner: State) -> State:
    return {f"{_INNER}{name}": value for name, value in inner.items()}


def _scaled(x: Tensor, after: Tensor, step: float) -> Tensor:
    """Return x + step (after - x); for a step of 1 return `after`, to avoid a second rounding."""
    if step == 1:
        return after
    exact = torch.float32 if x.device.type == "mps" else torch.float64
    return moved(x, after.to(exact) - x.to(exact), step)
