"""What a partition must offer, and `deal`: the one way to ask it, which refuses a deal that breaks the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import IntArray
from ehfl.registry import Registry
from ehfl.validation import InvalidValue, renamed, short, whole_number

Targets = NDArray[Any]  # (n_examples, ...); class labels are whole numbers of shape (n_examples,)


class Partition(Protocol):
    """Deals examples to clients."""

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's example numbers: together all of them, each once, nobody without any."""
        ...


PARTITIONS: Registry[Partition] = Registry(
    "partition",
    {
        "iid": "ehfl.partition.iid:Iid",
        "dirichlet": "ehfl.partition.dirichlet:Dirichlet",
        "shards": "ehfl.partition.shards:Shards",
    },
    methods=("partition",),
)


def deal(partition: Partition, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
    """Return each client's example numbers; a deal in which one is lost, dealt twice or no example is refused.

    >>> class Everything:
    ...     def partition(self, targets, n_clients, seed):
    ...         return [range(len(targets))] * n_clients
    >>> deal(Everything(), np.zeros(4), 2, seed=0)
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: partition must be one that deals every example to one client, \
got example 0 dealt to clients 0 and 1 (Everything, seed 0)
    """
    shown = targets.view()
    shown.flags.writeable = False  # they are the task's own, and shared by all runs
    with renamed(lambda name: name if name in ("clients", "partition") else f"partition.{name}"):
        found = partition.partition(shown, n_clients, seed)
    try:
        return checked_shares(found, len(targets), n_clients)
    except InvalidValue as error:
        given = f"{error.given} ({type(partition).__name__}, seed {seed})"
        raise InvalidValue("partition", error.allowed, given) from error


def checked_shares(found: object, n_examples: int, n_clients: int) -> list[IntArray]:
    """Return the shares of a deal as arrays, or say what is wrong with them."""
    if not isinstance(found, Sequence | np.ndarray) or len(found) != n_clients:
        given = f"{len(found)} lists" if isinstance(found, Sequence | np.ndarray) else short(repr(found))
        raise InvalidValue("partition", f"one that returns a list of example numbers for each of {n_clients} clients",
                           given)  # fmt: skip
    shares = [_checked_share(share, client, n_examples) for client, share in enumerate(found)]
    owners = np.repeat(np.arange(n_clients), [share.size for share in shares])
    numbers = np.concatenate(shares)
    times = np.bincount(numbers, minlength=n_examples)
    once = "one that deals every example to one client"
    if times.max() > 1:
        twice = int(times.argmax())
        first, second = owners[numbers == twice][:2]
        whom = f"twice to client {first}" if first == second else f"to clients {first} and {second}"
        raise InvalidValue("partition", once, f"example {twice} dealt {whom}")
    if times.min() == 0:
        lost = np.flatnonzero(times == 0)
        raise InvalidValue("partition", once, f"{lost.size} of {n_examples} examples not dealt, such as {lost[0]}")
    return shares


def _checked_share(given: object, client: int, n_examples: int) -> IntArray:
    try:
        share = np.asarray(given)
    except ValueError:  # lists inside it, of different lengths
        ragged = f"lists of different lengths for client {client}"
        raise InvalidValue("partition", "one that returns lists of whole numbers", ragged) from None
    if share.size == 0:
        raise InvalidValue("partition", "one that gives every client an example", f"none for client {client}")
    if share.ndim != 1 or share.dtype.kind not in "iu":
        kind = f"{share.dtype} of shape {share.shape} for client {client}"
        raise InvalidValue("partition", "one that returns lists of whole numbers", kind)
    outside = share[(share < 0) | (share >= n_examples)]
    if outside.size:
        allowed = f"one that returns example numbers in [0, {n_examples - 1}]"
        raise InvalidValue("partition", allowed, f"{outside[0]} for client {client}")
    return share.astype(np.int64, copy=False)


def class_labels(targets: Targets, partition: Partition) -> IntArray:
    """Return the targets as class labels, or say which partitions can do without."""
    if targets.ndim != 1 or targets.dtype.kind not in "iu":
        allowed = (
            "iid, or one of your own, where targets are no class labels: dirichlet and shards need a whole number "
            "for each example"
        )
        given = f"{type(partition).__name__} for {targets.dtype} of shape {targets.shape}"
        raise InvalidValue("partition", allowed, given)
    return targets


def check_enough(targets: Targets, n_clients: int, parameter: str = "", each: int = 1) -> None:
    """Refuse examples that are too few for every client to hold `each`, which `parameter` asks for."""
    examples = len(targets)
    whole_number("clients", n_clients, low=1)
    if each > max(1, examples):  # not even one client could be served
        raise InvalidValue(parameter, f"at most {examples} (the examples)", each)
    if n_clients * each > examples:
        need = "the examples" if each == 1 else f"{examples} examples, at least {each} for each client"
        raise InvalidValue("clients", f"at most {examples // each} ({need})", n_clients)
