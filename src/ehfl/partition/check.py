"""check_partition(): whether a partition of your own keeps the rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ehfl.partition.contract import PARTITIONS, Partition, Targets, checked_shares
from ehfl.randomness import check_seed
from ehfl.validation import FAILURES, BrokenRules, InvalidValue, blame, short, whole_number

_EACH = 40  # examples for each client, unless the caller brings targets


def check_partition(partition: Partition, *, targets: Targets | None = None, clients: int = 10, seed: int = 0) -> None:
    """Try a partition on two seeds; raise BrokenRules that says plainly what is wrong.

    Checked: that it deals every example to exactly one client and each client some, leaves the targets as they are,
    and deals the same when asked again. Targets are labels of ten classes unless given. Silence means that it passed.

    >>> class Halves:
    ...     def partition(self, targets, n_clients, seed):
    ...         return np.array_split(np.arange(len(targets) // 2), n_clients)
    >>> check_partition(Halves())
    Traceback (most recent call last):
    ehfl.validation.BrokenRules: Halves breaks the rules:
      - must be one that deals every example to one client: seed 0, got 200 of 400 examples not dealt, such as 200
    """
    partition = PARTITIONS.make(partition)
    whole_number("clients", clients, low=1, high=100_000 if targets is None else None)
    labels = np.arange(_EACH * clients) % 10 if targets is None else _checked_targets(targets)
    for one in (check_seed(seed), (seed + 1) % 2**64):
        faults = list(_faults(partition, labels, clients, one))
        if faults:
            raise BrokenRules(type(partition).__name__, faults)


def _checked_targets(given: object) -> Targets:
    try:
        targets = np.asarray(given)
    except ValueError:  # lists of different lengths
        targets = np.array(None)
    if targets.ndim == 0 or not len(targets):
        raise InvalidValue("targets", "an array with one for each example, at least one", short(repr(given)))
    return targets


def _faults(partition: Partition, targets: Targets, n_clients: int, seed: int) -> Iterator[str]:
    shown, deals = targets.copy(), []
    for _ in range(2):
        try:
            deals.append(checked_shares(partition.partition(shown, n_clients, seed), len(targets), n_clients))
        except InvalidValue as error:
            broken = f"must be {error.allowed}: seed {seed}, got {error.given}"
            yield broken if error.name == "partition" else f"fails: seed {seed}, {error}"
            return
        except FAILURES as error:  # whatever the user's own code raises
            yield f"fails: seed {seed}, {blame(partition, error)}"
            return
        if not np.array_equal(shown, targets, equal_nan=targets.dtype.kind == "f"):
            yield f"changes the targets that it is shown: seed {seed}"
            return
    for client, (one, other) in enumerate(zip(*deals, strict=True)):
        if not np.array_equal(one, other):
            detail = f"seed {seed}, asked twice, client {client} got other examples the second time"
            yield f"is not reproducible: {detail} (chance comes from the seed alone: np.random.default_rng(seed))"
            return
