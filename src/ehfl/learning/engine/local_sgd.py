"""How a participant trains: which examples it draws, and how long its steps are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray, IntArray, real_numbers
from ehfl.randomness import Purpose, generator
from ehfl.scheduling import Participation
from ehfl.theory import StepSize
from ehfl.validation import InvalidValue, is_number, number_in, whole_number


@dataclass(frozen=True, slots=True)
class LocalSgd:
    """K steps of minibatch SGD at each participant (paper, eq. 1)."""

    local_steps: int = 5  # K; 1 is parallel SGD
    batch_size: int = 50
    clip: float | None = None  # largest gradient norm; longer gradients are scaled down to it
    weight_decay: float = 0.0  # adds weight_decay * x to the gradient, after clipping

    def __post_init__(self) -> None:
        # Python's own numbers, because a checkpoint writes them as JSON, which knows none of NumPy's.
        object.__setattr__(self, "local_steps", whole_number("local_steps", self.local_steps, low=1))
        object.__setattr__(self, "batch_size", whole_number("batch_size", self.batch_size, low=1))
        # What a gradient is multiplied by must fit into float32.
        if self.clip is not None and not (is_number(self.clip) and 1e-30 <= self.clip <= 1e30):
            given = self.clip if is_number(self.clip) else repr(self.clip)
            raise InvalidValue("clip", "a number in [1e-30, 1e30] or None", given)
        object.__setattr__(self, "clip", None if self.clip is None else float(self.clip))
        object.__setattr__(self, "weight_decay", number_in("weight_decay", self.weight_decay, "[0, 1e30]"))


def minibatches(rule: LocalSgd, examples: IntArray, seed: int, client: int, t: int) -> Iterator[IntArray]:
    """Yield the example numbers of each of client's K steps in round t, from the (seed, client, round) stream.

    Every step draws `batch_size` distinct examples of the client's, anew. Where the client has no more than that, the
    batch is all of them in their order: full-batch gradient descent.

    >>> import numpy as np
    >>> [batch.tolist() for batch in minibatches(LocalSgd(2, batch_size=9), np.array([3, 5]), seed=0, client=1, t=4)]
    [[3, 5], [3, 5]]
    """
    rng = generator(seed, Purpose.BATCHES, client=client, round_=t)
    for _ in range(rule.local_steps):
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
