"""How a participant trains: which examples it draws, how long its steps are, and by which optimiser it takes them.

Local optimisers are any class of torch.optim, on the vector of all weights, with eta_t as its step size. A client's
turn is a pure function of its order, so an optimiser starts anew in every turn: no state is sent or kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from ehfl.arrays import FloatArray, IntArray, real_numbers
from ehfl.learning.engine.device import PRECISIONS
from ehfl.randomness import Purpose, generator
from ehfl.registry import Registry, Table
from ehfl.scheduling import Participation
from ehfl.theory import StepSize
from ehfl.validation import InvalidValue, is_number, number_in, one_line, whole_number

BUFFERS = ("mean", "local", "frozen")
_OF_TORCH = [kind for kind in vars(torch.optim).values() if isinstance(kind, type) and issubclass(kind, Optimizer)]
OPTIMISERS: Registry[Optimizer] = Registry(
    "local",
    {kind.__name__.lower(): f"torch.optim:{kind.__name__}" for kind in _OF_TORCH if kind is not Optimizer},
    methods=("step",),
)

Step = Callable[[Tensor, float], object]  # moves the weights by a gradient (n_params,) and a step size


@dataclass(frozen=True, slots=True)
class LocalSgd:
    """K steps of minibatch SGD at each participant (paper, eq. 1), or of another optimiser."""

    local_steps: int = 5  # K; 1 is parallel SGD
    batch_size: int = 50
    clip: float | None = None  # largest gradient norm; longer gradients are scaled down to it
    weight_decay: float = 0.0  # adds weight_decay * x to the gradient, after clipping
    local: str | Mapping[str, Any] | None = None  # an optimiser of torch.optim; None is plain SGD
    local_epochs: int | None = None  # passes over a client's examples, in place of local_steps
    local_decay: float = 1.0  # step k of a turn, from 0 on, has the size eta_t local_decay^k
    buffers: str = "mean"  # what becomes of the buffers that training changes, such as running means
    precision: str = "float32"  # of products in a step; "bf16" keeps weights and steps in float32

    def __post_init__(self) -> None:
        # Python's own numbers, because a checkpoint writes them as JSON, which knows none of NumPy's.
        object.__setattr__(self, "local_steps", whole_number("local_steps", self.local_steps, low=1))
        object.__setattr__(self, "batch_size", whole_number("batch_size", self.batch_size, low=1))
        # What a gradient is multiplied by must fit into float32.
        if self.clip is not None and not (is_number(self.clip) and 1e-30 <= self.clip <= 1e30):
            given = self.clip if is_number(self.clip) else repr(self.clip)
            raise InvalidValue("clip", "a number in [1e-30, 1e30] or None", given)
        object.__setattr__(self, "clip", None if self.clip is None else float(self.clip))
        if self.precision not in PRECISIONS:
            raise InvalidValue("precision", f"one of {', '.join(PRECISIONS)}", self.precision)
        object.__setattr__(self, "weight_decay", number_in("weight_decay", self.weight_decay, "[0, 1e30]"))
        object.__setattr__(self, "local", read_optimiser(self.local))
        if self.local_epochs is not None:
            object.__setattr__(self, "local_epochs", whole_number("local_epochs", self.local_epochs, low=1))
        object.__setattr__(self, "local_decay", number_in("local_decay", self.local_decay, "(0, 1]"))

        if self.buffers not in BUFFERS:
            raise InvalidValue("buffers", f"one of {', '.join(BUFFERS)}", self.buffers)

    def step_of(self, weights: Tensor) -> Step:
        """Return the function that moves these weights in one turn; its state is the turn's own."""
        read: Any = self.local  # a table, as __post_init__ left it
        return step_of(read, weights)

    def steps_of(self, examples: int) -> int:
        """Return K_i, the number of local steps of a client with `examples` examples."""
        if self.local_epochs is None:
            return self.local_steps
        return self.local_epochs * -(-examples // self.batch_size)

    def least_batch(self, examples: int) -> int:
        """Return the size of the smallest batch of a client with `examples` examples."""
        if self.local_epochs is None:
            return min(examples, self.batch_size)
        return examples % self.batch_size or self.batch_size

    def mean_step(self, eta: float, steps: int) -> float:
        """Return the mean size of a turn's steps, the first of which is eta_t: what a gradient is read by."""
        decay = self.local_decay
        return eta if decay == 1 else eta * (1 - decay**steps) / (steps * (1 - decay))


def minibatches(rule: LocalSgd, examples: IntArray, seed: int, client: int, t: int) -> Iterator[IntArray]:
    """Yield the example numbers of each of client's K steps in round t, from the (seed, client, round) stream.

    Every step draws `batch_size` distinct examples of the client's, anew. Where the client has no more than that, the
    batch is all of them in their order: full-batch gradient descent. With `local_epochs`, an epoch is a permutation of
    the client's examples, cut into batches, of which the last may be smaller.

    >>> import numpy as np
    >>> [batch.tolist() for batch in minibatches(LocalSgd(2, batch_size=9), np.array([3, 5]), seed=0, client=1, t=4)]
    [[3, 5], [3, 5]]
    """
    rng = generator(seed, Purpose.BATCHES, client=client, round_=t)
    for _ in range(rule.local_epochs or 0):
        order = examples if rule.batch_size >= examples.size else rng.permutation(examples)
        yield from (order[start : start + rule.batch_size] for start in range(0, examples.size, rule.batch_size))
    for _ in range(0 if rule.local_epochs else rule.local_steps):
        if rule.batch_size >= examples.size:
            yield examples  # in their order: sums of the same numbers in another order round differently
        else:
            yield examples[rng.choice(examples.size, rule.batch_size, replace=False)]


def step_sizes(rule: StepSize, participation: Participation) -> FloatArray:
    """Return eta_t of every round, shape (n_rounds,)."""
    return checked_steps(rule(participation.counts, participation.rounds), participation.rounds)


def checked_steps(found: object, rounds: int) -> FloatArray:
    """Return what a rule found as an array, if it is a step for each round that float32 holds; one below 0 climbs."""
    allowed = f"a number in [0, 1e30] for each round ({rounds})"
    etas = real_numbers("step_size", found, allowed)
    if etas.shape != (rounds,):
        raise InvalidValue("step_size", allowed, f"shape {etas.shape}")
    wrong = np.flatnonzero(~((etas >= 0) & (etas <= 1e30)))
    if wrong.size:
        raise InvalidValue("step_size", allowed, f"{etas[wrong[0]]:g} in round {wrong[0]}")
    return etas


def read_optimiser(given: object, key: str = "local") -> Table | None:
    """Return an optimiser as a table, None for plain SGD; raise an error if it cannot train one vector.

    >>> read_optimiser("adamw:weight_decay=0.01"), read_optimiser("sgd")
    ({'name': 'adamw', 'weight_decay': 0.01}, None)
    """
    if given is None:
        return None
    table = OPTIMISERS.table(given, key)
    for parameter in table.keys() - {"name"}:
        if parameter in ("lr", "params"):
            raise InvalidValue(f"{key}.{parameter}", "left out: step_size sets the step, eta_t in round t", parameter)
        if not OPTIMISERS.takes(table, parameter, key):
            raise InvalidValue(f"{key}.{parameter}", f"a parameter of torch.optim's {table['name']}", parameter)
    if table == {"name": "sgd"}:
        return None
    try:  # LBFGS wants a closure, SparseAdam sparse gradients, Muon matrices
        step_of(table, torch.zeros(2))(torch.ones(2), 0.1)
    except (TypeError, ValueError, RuntimeError) as error:
        allowed = "an optimiser that trains one dense vector from its gradient alone"
        raise InvalidValue(key, allowed, f"{OPTIMISERS.text(table)} ({one_line(error)})") from error
    return table


def step_of(table: Mapping[str, Any] | None, weights: Tensor) -> Step:
    """Return the function that moves these weights in one turn: plain SGD, or a new optimiser."""
    if table is None:
        return lambda gradient, eta: weights.add_(gradient, alpha=-eta)
    parameters = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
    optimiser = OPTIMISERS.factory(parameters.pop("name"))([weights], lr=0.0, **parameters)

    def step(gradient: Tensor, eta: float) -> None:
        weights.grad = gradient
        for group in optimiser.param_groups:
            group["lr"] = eta
        optimiser.step()
        weights.grad = None

    return step
