"""check_aggregation(): whether an aggregation of your own keeps the rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ehfl.learning.aggregation import AGGREGATIONS, Aggregation, State, Update, informed, share_of, traffic_of
from ehfl.learning.aggregation.check_assignments import assignment_fault
from ehfl.learning.flat import Arrays
from ehfl.learning.rows import Rows
from ehfl.learning.saved_state import as_arrays, from_arrays
from ehfl.randomness import Purpose, check_seed, generator
from ehfl.validation import FAILURES, BrokenRules, UserError, blame, short, whole_number

_PARAMETERS = 12


def check_aggregation(aggregation: Aggregation | str, *, clients: int = 6, rounds: int = 8, seed: int = 0) -> None:
    """Play a few rounds of made-up updates; raise BrokenRules that says plainly what is wrong.

    Checked: that `init` and `apply` return what they should, of constant names, shapes and kinds, and finite; that
    `apply` goes through all updates once, in empty rounds too, and leaves model, updates and state as they are; that it
    does the same when asked again, with its state read from a checkpoint; that `assign`, where there is one, gives
    clients what they can be sent. Silence means that it passed.

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
    aggregation = informed(AGGREGATIONS.make(aggregation), [0.5] * clients)
    faults = list(_Trial(aggregation, clients, rounds, check_seed(seed)).faults())
    if faults:
        raise BrokenRules(type(aggregation).__name__, faults)


class _Fault(UserError):
    """A broken rule, after which the rest makes no sense."""


class _Trial:
    """Rounds of made-up updates that an aggregation is tried on."""

    def __init__(self, aggregation: Aggregation, clients: int, rounds: int, seed: int) -> None:
        self.aggregation, self.clients, self.rounds = aggregation, clients, rounds
        self.rng = generator(seed, Purpose.BATCHES)

    def faults(self) -> Iterator[str]:
        """Yield what is wrong, and stop at the first fault that makes the rest pointless."""
        at = "init"
        try:
            self._check_names()
            state = self._started()
            for t in range(self.rounds):
                # None, all and few of the clients in turn.
                count = (self.clients, 0, 1, self.clients // 2)[t % 4]
                at = f"round {t} with {count} updates"
                state = self._round(t, count, state)
            at = "assign"
            self._check_assignments(state)
            at = "share"
            self._check_shares()
            at = "models_down and models_up"
            traffic_of(self.aggregation, _PARAMETERS)
        except _Fault as fault:
            yield str(fault)
        except FAILURES as error:  # whatever the user's own code raises
            yield f"fails: {at}, {blame(self.aggregation, error)}"

    def _check_names(self) -> None:
        """Refuse a field with the name of an optional method, which would be called."""
        for name in ("assign", "share"):
            if hasattr(self.aggregation, name) and not callable(getattr(self.aggregation, name)):
                raise _Fault(f"has a field {name}, which is the name of a method: give it another")

    def _started(self) -> State:
        first, again = (self.aggregation.init(self.clients, _PARAMETERS) for _ in range(2))
        _check_state(first, "init")
        if not _same(as_arrays(first), as_arrays(again)):
            raise _Fault("is not reproducible: init, asked twice, returned different states")
        return first

    def _round(self, t: int, count: int, state: State) -> State:
        """Play a round twice, the second time with the state as a checkpoint gives it back."""
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
        """Return what `apply` does in a round, or say which rule it breaks."""
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

    def _check_assignments(self, state: State) -> None:
        for client in range(self.clients):
            if fault := assignment_fault(self.aggregation, self._vector(), client, state):
                raise _Fault(fault)

    def _check_shares(self) -> None:
        for examples in (1, 50, 10**6):
            share = share_of(self.aggregation, examples)
            if not math.isfinite(share) or share < 0:
                raise _Fault(f"must have a share that is a finite number >= 0, got {share} for {examples} examples")

    def _vector(self) -> Tensor:
        return torch.from_numpy(self.rng.standard_normal(_PARAMETERS).astype(np.float32))

    def _update(self, client: int, x: Tensor) -> Update:
        weights, examples = x + self._vector(), int(self.rng.integers(1, 100))
        return Update(client, x, weights, loss=0.5, steps=5, examples=examples, eta=0.1)


def _check_model(after: object, x: Tensor, where: str) -> None:
    """Refuse what could not be the next model."""
    if not isinstance(after, Tensor) or after.shape != x.shape or not after.is_floating_point():
        kind = f"{after.dtype} of shape {tuple(after.shape)}" if isinstance(after, Tensor) else type(after).__name__
        raise _Fault(f"must return a model of shape {tuple(x.shape)}: {where}, got {kind}")
    if not torch.isfinite(after).all():
        raise _Fault(f"must return a finite model: {where}")


def _check_state(state: object, where: str) -> None:
    """Refuse what a checkpoint could not hold."""
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise _Fault(f"must remember tensors by name: {where}, got {short(repr(state))}")
    for name, value in state.items():
        if isinstance(value, Rows):
            if not all(torch.isfinite(value[client]).all() for client in value.clients):
                raise _Fault(f"must remember finite numbers: {where}, {name} is not")
            continue
        if not isinstance(value, Tensor):
            raise _Fault(f"must remember tensors by name: {where}, got {type(value).__name__} as {name}")
        if value.requires_grad or value.dtype in (torch.bfloat16, torch.complex32):
            kind = "a tensor with a gradient" if value.requires_grad else value.dtype
            raise _Fault(f"must remember what a checkpoint can hold: {where}, got {kind} as {name}")
        if not torch.isfinite(value).all():
            raise _Fault(f"must remember finite numbers: {where}, {name} is not")


def _reread(state: State) -> State:
    """Return the state as a resumed run has it: through arrays, as a checkpoint holds them."""
    return from_arrays(as_arrays(state), state, torch.device("cpu"))


def _same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def _kinds(state: State) -> dict[str, str]:
    return {name: _kind(value) for name, value in state.items()}


def _kind(value: Tensor | Rows) -> str:
    if isinstance(value, Rows):
        return f"rows ({value.n_clients}, {value.n_params})"
    return f"{value.dtype} {tuple(value.shape)}".removeprefix("torch.")
