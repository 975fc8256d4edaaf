"""Aggregations that weigh updates: by probabilities, by past gaps, by the scheduler, by local steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from ehfl.arrays import real_numbers
from ehfl.learning.aggregation.contract import Aggregation, State, Update
from ehfl.learning.aggregation.mean import moved, weighted_sum
from ehfl.validation import InvalidValue, is_word, positive_number, whole_number

_LEAST = 1e-30  # the quotient must fit into float32


@dataclass(frozen=True, slots=True)
class InverseProbability:
    """Each update is divided by its client's probability to take part, so that all clients count equally on average.

    x_{t+1} = x_t + (server_step/N) sum_S Delta_i / p_i,   p_i = P(i in S_t).

    The expectation of the step is the mean over all N clients, whichever had energy (Horvitz and Thompson, JASA 1952; a
    baseline of arXiv 2306.03401). In a comparison, "auto" computes the p_i of fleet and scheduler before training.

    An empty round leaves the model unchanged: its sum is empty. The weights of the other rounds, larger than those of a
    mean, compensate for it.
    """

    probabilities: tuple[float, ...] | Literal["auto"] = "auto"  # p_i in (0, 1], one per client
    server_step: float = 1.0

    def __post_init__(self) -> None:
        if not is_word(self.probabilities, "auto"):
            object.__setattr__(self, "probabilities", _checked(self.probabilities))
        positive_number("server_step", self.server_step)

    @property
    def wants_probabilities(self) -> bool:
        """Whether the probabilities are not yet computed."""
        return isinstance(self.probabilities, str)

    def informed(self, probabilities: Sequence[float]) -> InverseProbability:
        """Return a copy with these probabilities."""
        return replace(self, probabilities=tuple(probabilities))

    def init(self, n_clients: int, n_params: int) -> State:
        """Return an empty state; raise an error unless there is one probability per client."""
        if isinstance(self.probabilities, str):
            allowed = (
                "one in (0, 1] per client, as in chances(fleet, scheduler, rounds).probabilities; auto is for specs"
            )
            raise InvalidValue("probabilities", allowed, "auto")
        if len(self.probabilities) != n_clients:
            raise InvalidValue("probabilities", f"one per client ({n_clients})", f"a list of {len(self.probabilities)}")
        return {}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the updates divided by their clients' probabilities."""
        chances = self.probabilities
        assert not isinstance(chances, str), "init has refused it"
        total, _ = weighted_sum(x, updates, lambda update: 1 / chances[update.client])
        return moved(x, total, self.server_step / len(chances)), state


def _checked(given: object) -> tuple[float, ...]:
    """Return probabilities as a tuple; raise an error that names the first invalid one."""
    allowed = "auto or one number in (0, 1] per client"
    found = real_numbers("probabilities", given, allowed)
    if found.ndim != 1 or not found.size:
        raise InvalidValue("probabilities", allowed, f"an array of shape {found.shape}" if found.size else repr(given))
    for client, chance in enumerate(found.tolist()):
        if 0 <= chance < _LEAST:
            why = f"client {client} never takes part: its weight would be infinite"
            raise InvalidValue("probabilities", allowed, f"{chance} ({why})")
        if not 0 < chance <= 1:
            raise InvalidValue("probabilities", allowed, f"{chance} for client {client}")
    return tuple(found.tolist())


@dataclass(frozen=True, slots=True)
class FedAu:
    """Each update is weighted by 1/p_i, estimated as the mean length of its client's past gaps.

    x_{t+1} = x_t + (server_step/N) sum_S omega_i Delta_i,   omega_i = mean length of i's intervals before round t.

    S. Wang and M. Ji, "A lightweight method for tackling unknown participation statistics in federated averaging", ICLR
    2024, arXiv 2306.03401. An interval ends with a turn, or after `cutoff` rounds without one (K; the authors' is 50):
    `cutoff` bounds the weights of clients that rarely take part. The weight of round t depends on earlier rounds only,
    and is 1 before the first interval has ended; both as in the authors' code (IBM/fedau).

    An empty round leaves the model unchanged and lengthens every client's gap by one.
    """

    cutoff: int = 50
    server_step: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "cutoff", whole_number("cutoff", self.cutoff, low=1, high=2**31))
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Return zero for each client's current gap (S_n), number of past intervals (M_n) and their total length."""
        return {name: torch.zeros(n_clients, dtype=torch.int64) for name in ("gap", "intervals", "rounds")}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the weighted updates, and the gaps updated by this round."""
        # The state holds counts instead of means, because counts accumulate no rounding error.
        intervals, rounds = (state[name].tolist() for name in ("intervals", "rounds"))
        omega = [total / count if count else 1.0 for total, count in zip(rounds, intervals, strict=True)]
        total, clients = weighted_sum(x, updates, lambda update: omega[update.client])
        return moved(x, total, self.server_step / len(omega)), self._counted(state, clients)

    def _counted(self, state: State, took_part: list[int]) -> State:
        gap = state["gap"] + 1
        ended = gap >= self.cutoff
        ended[took_part] = True
        return {
            "gap": torch.where(ended, 0, gap),
            "intervals": state["intervals"] + ended,
            "rounds": state["rounds"] + torch.where(ended, gap, 0),
        }


@dataclass(frozen=True, slots=True)
class Scheduled:
    """x_{t+1} = x_t + (server_step/N) sum_S w_i Delta_i, where w_i is the scheduler's weight for this turn.

    For schedulers that select clients and weight them jointly: F3ast (arXiv 2205.06730) weights by the inverse of a
    client's selection rate, EnergyCycles (arXiv 2102.11274) by the number of rounds that its energy takes.

    An empty round leaves the model unchanged: the sum is empty. The weights of other rounds compensate for it.
    """

    wants_weights: ClassVar[bool] = True
    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Return N as the state, because the updates of a round do not contain it."""
        return {"n_clients": torch.tensor(n_clients)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the updates with the scheduler's weights."""
        total, _ = weighted_sum(x, updates, lambda update: update.weight)
        return moved(x, total, self.server_step / int(state["n_clients"])), state


def no_weights(aggregation: Aggregation, scheduler: str) -> InvalidValue:
    """Return the error for an aggregation that needs weights with a scheduler that gives none."""
    allowed = "used with a scheduler that brings weights (f3ast, energy-cycles or one of your own)"
    return InvalidValue("aggregation", allowed, f"{type(aggregation).__name__} with {scheduler}")


@dataclass(frozen=True, slots=True)
class FedNova:
    """x_{t+1} = x_t + server_step * tau * mean over S of Delta_i / k_i, tau being the mean of the k_i.

    k_i is the number of steps of client i. In a plain mean, clients that take more steps have longer updates and
    dominate the result. Here each client contributes its mean step, and the model moves by the mean number of steps.
    If all clients take K steps, the result is the mean of updates.

    J. Wang, Q. Liu, H. Liang, G. Joshi and H. V. Poor, "Tackling the objective inconsistency problem in heterogeneous
    federated optimization", NeurIPS 2020, arXiv 2007.07481, for plain SGD, where a_i = (1, ..., 1) and its norm is k_i,
    and with tau_eff = sum of p_i k_i (section 4). Here p_i = 1/|S|: participants count equally, whatever their data.

    An empty round leaves the model unchanged: there are no updates to average.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember nothing."""
        return {}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the mean of the clients' mean steps, times the mean number of steps."""
        steps: list[int] = []

        def share(update: Update) -> float:
            steps.append(update.steps)
            return 1 / update.steps

        total, _ = weighted_sum(x, updates, share)
        count = max(len(steps), 1)
        return moved(x, total, self.server_step * sum(steps) / count**2), state
