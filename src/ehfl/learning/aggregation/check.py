"""`check_aggregation`: try an aggregation on made-up rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ehfl.learning.aggregation import AGGREGATIONS
from ehfl.learning.aggregation.contract import (
    Aggregation,
    Assignment,
    State,
    Update,
    assignment_of,
    informed,
    share_of,
    traffic_of,
)
from ehfl.learning.engine.flat import Arrays
from ehfl.learning.memory import Rows, as_arrays, from_arrays
from ehfl.randomness import Purpose, check_seed, generator
from ehfl.validation import FAILURES, BrokenRules, UserError, blame, is_number, short, whole_number

_PARAMETERS = 12


def check_aggregation(aggregation: Aggregation | str, *, clients: int = 6, rounds: int = 8, seed: int = 0) -> None:
    """Play a few rounds of synthetic updates; raise BrokenRules with a list of the faults.

    The check passes silently if: `init` and `apply` return finite values with constant names, shapes and dtypes;
    `apply` reads all updates once, also in empty rounds, and changes neither model nor updates nor state in place; a
    repeated call with a state read from a checkpoint returns the same result; and `assign`, if present, returns a valid
    `Assignment`.

    >>> class Sum:
    ...     def init(self, n_clients, n_params):
    ...         return {}
    ...     def apply(self, x, updates, state):
    ...         for update in updates:
    ...             x += update.delta
    ...         return x, state
    >>> check_aggregation(Sum())
    Traceback (most recent call last):
    ehfl.validation.BrokenRules: Sum breaks the rules:
      - must leave what it is given as it is: round 0, x was changed
    """
    whole_number("clients", clients, low=1, high=100_000)
    whole_number("rounds", rounds, low=1, high=100_000)
    trial = _Trial(informed(AGGREGATIONS.make(aggregation), [0.5] * clients), clients, check_seed(seed))
    try:
        trial.play(rounds)
    except _Fault as fault:
        raise BrokenRules(trial.name, [str(fault)]) from None
    except FAILURES as error:  # user code may raise anything
        raise BrokenRules(trial.name, [f"fails: {trial.stage}, {blame(trial.aggregation, error)}"]) from error


class _Fault(UserError):
    """A broken rule; later checks would mean nothing."""


class _Trial:
    """Rounds of synthetic updates for testing an aggregation."""

    def __init__(self, aggregation: Aggregation, clients: int, seed: int) -> None:
        self.aggregation, self.clients, self.name = aggregation, clients, type(aggregation).__name__
        self.stage = "init"  # what is tried
        self._rng = generator(seed, Purpose.BATCHES)

    def play(self, rounds: int) -> None:
        """Raise the first fault."""
        for name in ("assign", "share"):
            if hasattr(self.aggregation, name) and not callable(getattr(self.aggregation, name)):
                raise _Fault(f"has a field {name}, which is the name of a method: give it another")
        state = self._started()
        for t in range(rounds):
            # Alternate between empty, full and small rounds, because many faults show in one kind only.
            count = (self.clients, 0, 1, self.clients // 2)[t % 4]
            self.stage = f"round {t} with {count} updates"
            state = self._round(t, count, state)
        self.stage = "assign"
        for client in range(self.clients):
            _check_assignment(self.aggregation, self._vector(), client, state)
        self.stage = "share"
        for examples in (1, 50, 10**6):
            share = share_of(self.aggregation, examples)
            if not math.isfinite(share) or share < 0:
                raise _Fault(f"must have a share that is a finite number >= 0, got {share} for {examples} examples")
        self.stage = "models_down and models_up"
        traffic_of(self.aggregation, _PARAMETERS)

    def _started(self) -> State:
        first, again = (self.aggregation.init(self.clients, _PARAMETERS) for _ in range(2))
        _check_state(first, "init")
        if not _same(as_arrays(first), as_arrays(again)):
            raise _Fault("is not reproducible: init, asked twice, returned different states")
        return first

    def _round(self, t: int, count: int, state: State) -> State:
        """Play a round twice, the second time with the state read from a checkpoint."""
        x = self._vector()
        updates = [self._update(client, x) for client in range(count)]
        ends = [self._applied(t, x, updates, given) for given in (state, _reread(state))]
        (after, remembered), (again, remembered_again) = ends
        if not torch.equal(after, again) or not _same(as_arrays(remembered), as_arrays(remembered_again)):
            remedy = "what it remembers belongs into the state, not into the object"
            raise _Fault(f"is not reproducible: round {t}, played twice, ended differently ({remedy})")
        if _kinds(remembered) != _kinds(state):
            given, found = (short(str(_kinds(one)), 80) for one in (state, remembered))
            raise _Fault(f"changes the names, shapes or kinds of its state: round {t}, {given} became {found}")
        return remembered

    def _applied(self, t: int, x: Tensor, updates: Sequence[Update], state: State) -> tuple[Tensor, State]:
        """Return the result of `apply` in a round, or raise a fault."""
        taken = 0

        def once() -> Iterator[Update]:
            nonlocal taken
            for update in updates:
                taken += 1
                yield update

        given = {"x": x} | {f"the update of client {one.client}": one.weights for one in updates}
        before, state_before = {name: value.clone() for name, value in given.items()}, as_arrays(state)
        found = self.aggregation.apply(x, once(), state)
        if taken != len(updates):
            raise _Fault(f"must go through all updates once: round {t}, it took {taken} of {len(updates)}")
        if not isinstance(found, tuple) or len(found) != 2:
            raise _Fault(f"must return the model and the state, got {short(repr(found))}")
        _check_model(found[0], x, f"round {t} with {len(updates)} updates")
        _check_state(found[1], f"round {t}")
        changed = [name for name, value in given.items() if not torch.equal(value, before[name])]
        if changed or not _same(as_arrays(state), state_before):
            what = changed[0] if changed else "the state"
            raise _Fault(f"must leave what it is given as it is: round {t}, {what} was changed")
        return found

    def _vector(self) -> Tensor:
        return torch.from_numpy(self._rng.standard_normal(_PARAMETERS).astype(np.float32))

    def _update(self, client: int, x: Tensor) -> Update:
        weights, examples = x + self._vector(), int(self._rng.integers(1, 100))
        return Update(client, x, weights, loss=0.5, steps=5, examples=examples, eta=0.1)


def _check_model(after: object, x: Tensor, where: str) -> None:
    """Raise a fault if this cannot be the next model."""
    if not isinstance(after, Tensor) or after.shape != x.shape or not after.is_floating_point():
        raise _Fault(f"must return a model of shape {tuple(x.shape)}: {where}, got {_kind(after)}")
    if not torch.isfinite(after).all():
        raise _Fault(f"must return a finite model: {where}")


def _check_state(state: object, where: str) -> None:
    """Raise a fault if a checkpoint cannot hold this state."""
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise _Fault(f"must remember tensors by name: {where}, got {short(repr(state))}")
    for name, value in state.items():
        vectors = [value[client] for client in value.clients] if isinstance(value, Rows) else [value]
        for one in vectors:
            if not isinstance(one, Tensor):
                raise _Fault(f"must remember tensors by name: {where}, got {type(one).__name__} as {name}")
            if one.requires_grad or one.dtype in (torch.bfloat16, torch.complex32):
                kind = "a tensor with a gradient" if one.requires_grad else one.dtype
                raise _Fault(f"must remember what a checkpoint can hold: {where}, got {kind} as {name}")
            if not torch.isfinite(one).all():
                raise _Fault(f"must remember finite numbers: {where}, {name} is not")


def _reread(state: State) -> State:
    """Return the state of a resumed run: converted to a checkpoint's arrays and back."""
    return from_arrays(as_arrays(state), state, torch.device("cpu"))


def _same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def _kinds(state: State) -> dict[str, str]:
    return {name: _kind(value) for name, value in state.items()}


def _kind(value: object) -> str:
    if isinstance(value, Rows):
        return f"rows ({value.n_clients}, {value.n_params})"
    return f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__


def _check_assignment(aggregation: Aggregation, x: Tensor, client: int, state: State) -> None:
    before = x.clone()
    given: object = assignment_of(aggregation, x, client, state)
    if not isinstance(given, Assignment):
        raise _Fault(f"must assign an Assignment, got {short(repr(given))}")
    if not torch.equal(x, before):
        raise _Fault("must leave what it is given as it is: x was changed by assign")
    if not is_number(given.pull) or not math.isfinite(given.pull):
        raise _Fault(f"must assign a pull that is a finite number, got {short(repr(given.pull))}")
    for name, found in {"start": given.start, "shift": x if given.shift is None else given.shift}.items():
        if not isinstance(found, Tensor) or found.shape != x.shape or found.dtype != x.dtype:
            raise _Fault(f"must assign a {name} of {x.dtype} and of shape {tuple(x.shape)}, got {_kind(found)}")
        if not torch.isfinite(found).all():
            raise _Fault(f"must assign a {name} of finite numbers")
