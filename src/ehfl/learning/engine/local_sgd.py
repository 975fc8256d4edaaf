"""How a participant trains: which examples it draws, and how long its steps are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ehfl.arrays import FloatArray, IntArray, real_numbers
from ehfl.learning.engine.optimisers import Step, read_optimiser, step_of
from ehfl.learning.engine.precision import PRECISIONS
from ehfl.randomness import Purpose, generator
from ehfl.scheduling import Participation
from ehfl.theory import StepSize
from ehfl.validation import InvalidValue, is_number, number_in, whole_number

BUFFERS = ("mean", "local", "frozen")


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
