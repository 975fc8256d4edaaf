"""Random numbers of a turn: torch's functions, from the stream of (seed, client, round), in any number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ehfl.randomness import Purpose, generator

_GLOBAL = threading.Lock()  # held by the thread whose state is in torch's global generators


class Chance(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it is entered, every random operation of torch in this thread draws from a stream of its own.

    Dropout and most augmentation draw from torch's global generator, which all threads share. Torch marks random
    operations, and calls this object for each operation of its thread; so the generator gets the turn's state for the
    duration of one random operation, and its own back.

    >>> drawn = []
    >>> for _ in range(2):
    ...     with Chance(seed=0, client=3, t=5) as chance:
    ...         drawn.append(torch.nn.functional.dropout(torch.ones(9)))
    >>> torch.equal(*drawn), chance.drew
    (True, True)
    """

    def __init__(self, seed: int, client: int = 0, t: int = 0) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.drew = False  # whether anything was random so far
        self._seed = int(generator(seed, Purpose.TRAINING, client=client, round_=t).integers(2**63))
        self._states: list[torch.Tensor] | None = None  # of the generators, made when they are first needed

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run an operation; give a random one the state of this stream."""
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **(kwargs or {}))
        self.drew = True
        with _GLOBAL:
            return self._random(lambda: func(*args, **(kwargs or {})))

    def _random(self, draw: Callable[[], Any]) -> Any:
        generators = _generators()
        before = [one.get_state() for one in generators]
        if self._states is None:
            self._states = [torch.Generator(one.device).manual_seed(self._seed).get_state() for one in generators]
        try:
            for one, state in zip(generators, self._states, strict=True):
                one.set_state(state)
            return draw()
        finally:
            self._states = [one.get_state() for one in generators]
            for one, state in zip(generators, before, strict=True):
                one.set_state(state)


def _generators() -> list[torch.Generator]:
    """Return torch's global generators: of the CPU, and of the graphics cards in use."""
    found = [torch.default_generator]
    if torch.cuda.is_available():
        found += torch.cuda.default_generators
    if torch.backends.mps.is_available():
        found.append(torch.mps._get_default_mps_generator())
    return found
