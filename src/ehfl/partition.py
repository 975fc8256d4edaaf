"""Who holds which examples: partitions with the parameters of flwr-datasets.

Shares are disjoint, complete and seeded. Each partition divides `targets`, one per example, among `n_clients` clients
and returns their sorted example numbers by client; the sizes are the paper's D_i. `PARTITIONS` has all of them by name.
`deal` calls one and checks the result, `check_partition` tests a user's partition.

>>> PARTITIONS.make("dirichlet:0.3")
Dirichlet(alpha=0.3, min_partition_size=10)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import IntArray
from ehfl.randomness import Purpose, check_seed, generator
from ehfl.registry import Registry
from ehfl.validation import FAILURES, BrokenRules, InvalidValue, blame, number_in, renamed, short, whole_number

_EACH = 40  # examples for each client in a check, unless the caller brings targets
_ATTEMPTS = 1000  # draws of Dirichlet shares until every client has enough
Targets = NDArray[Any]  # (n_examples, ...); class labels are whole numbers of shape (n_examples,)


class Partition(Protocol):
    """Deals examples to clients."""

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's example numbers: together all of them, each once, and some for every client."""
        ...


PARTITIONS: Registry[Partition] = Registry(
    "partition",
    {
        "iid": "ehfl.partition:Iid",
        "dirichlet": "ehfl.partition:Dirichlet",
        "shards": "ehfl.partition:Shards",
        "natural": "ehfl.partition:Natural",
    },
    methods=("partition",),
)


@dataclass(frozen=True, slots=True)
class Iid:
    """Equal shares at random, of targets of any kind; sizes differ by at most one.

    >>> [part.size for part in Iid().partition(np.zeros(7), 3, seed=0)]
    [3, 2, 2]
    """

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return the shares of a shuffled deck."""
        _check_enough(targets, n_clients)
        order = generator(seed, Purpose.PARTITION).permutation(len(targets))
        return [np.sort(part) for part in np.array_split(order, n_clients)]


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """Each label is dealt in shares drawn from Dirichlet(alpha): the smaller alpha, the more clients differ.

    Drawn again until every client has `min_partition_size` examples.
    M. Yurochkin et al., "Bayesian nonparametric federated learning of neural networks", ICML 2019.

    >>> parts = Dirichlet(alpha=0.3, min_partition_size=5).partition(np.arange(60) % 3, 4, seed=0)
    >>> sum(part.size for part in parts), min(part.size for part in parts) >= 5
    (60, True)
    """

    alpha: float
    min_partition_size: int = 10

    def __post_init__(self) -> None:
        # For larger alpha all shares are equal and NumPy's draws overflow.
        number_in("alpha", self.alpha, "(0, 1e9]")
        whole_number("min_partition_size", self.min_partition_size, low=1)

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's share of every label."""
        labels = _class_labels(targets, self)
        _check_enough(labels, n_clients, "min_partition_size", self.min_partition_size)
        rng = generator(seed, Purpose.PARTITION)
        groups = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
        for _ in range(_ATTEMPTS):
            parts = self._deal(groups, n_clients, rng)
            if min(part.size for part in parts) >= self.min_partition_size:
                return parts
        need = f"at least {self.min_partition_size} of the {labels.size} examples for each of {n_clients} clients"
        failed = f"{self.alpha:g}: {_ATTEMPTS} draws of seed {seed} failed"
        remedy = "take a larger alpha, a smaller min_partition_size or fewer clients"
        raise InvalidValue("alpha", f"so large that {need} is reachable", f"{failed} ({remedy})")

    def _deal(self, groups: list[IntArray], n_clients: int, rng: np.random.Generator) -> list[IntArray]:
        dealt: list[list[IntArray]] = [[] for _ in range(n_clients)]
        for group in groups:
            shares = rng.dirichlet(np.full(n_clients, self.alpha))
            cuts = (np.cumsum(shares)[:-1] * group.size).astype(np.int64)
            for client, piece in enumerate(np.split(group, cuts)):
                dealt[client].append(piece)
        return [np.sort(np.concatenate(pieces)) for pieces in dealt]


@dataclass(frozen=True, slots=True)
class Shards:
    """Examples sorted by label, cut into equal shards, a few shards at random to each client.

    A client sees about `num_shards_per_partition` classes. H. B. McMahan et al., AISTATS 2017.

    >>> labels = np.arange(60) % 6
    >>> [np.unique(labels[part]).size for part in Shards(2).partition(labels, 3, seed=0)]
    [2, 2, 2]
    """

    num_shards_per_partition: int = 2

    def __post_init__(self) -> None:
        whole_number("num_shards_per_partition", self.num_shards_per_partition, low=1)

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's shards; shard sizes differ by at most one, so that no example is dropped."""
        labels = _class_labels(targets, self)
        _check_enough(labels, n_clients, "num_shards_per_partition", self.num_shards_per_partition)
        n_shards = n_clients * self.num_shards_per_partition
        rng = generator(seed, Purpose.PARTITION)
        mixed = rng.permutation(labels.size)  # a stable sort keeps this order within a label: shards differ by seed
        shards = np.array_split(mixed[np.argsort(labels[mixed], kind="stable")], n_shards)
        hands = rng.permutation(n_shards).reshape(n_clients, -1)
        return [np.sort(np.concatenate([shards[shard] for shard in hand])) for hand in hands]


@dataclass(frozen=True)
class Natural:
    """Each user's examples go to one client: to client i those of user i, or of several users drawn at random.

    The task's examples say who they are from (`Examples.users`). With more users than clients, shares of whole users
    differ by at most one user.

    >>> [part.tolist() for part in Natural().with_users(np.array([1, 0, 1])).partition(np.zeros(3), 2, seed=0)]
    [[1], [0, 2]]
    """

    def with_users(self, users: IntArray | None) -> Natural:
        """Return the partition of these users' examples, (n_examples,)."""
        found = Natural()
        object.__setattr__(found, "_users", users)
        return found

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's users' examples."""
        users: IntArray | None = getattr(self, "_users", None)
        if users is None:
            raise InvalidValue("partition", "another than natural: the task's examples have no users", "natural")
        _check_enough(targets, n_clients)
        n_users = int(users.max()) + 1
        if n_clients > n_users:
            raise InvalidValue("clients", f"at most {n_users} (the users of the data)", n_clients)
        owners = np.arange(n_users)
        if n_users > n_clients:
            owners = generator(seed, Purpose.PARTITION).permutation(np.arange(n_users) % n_clients)
        return [np.flatnonzero(owners[users] == client) for client in range(n_clients)]


@dataclass(frozen=True, slots=True)
class InLabelOrder:
    """Another partition's shares, sorted by mean label: low labels go to the first clients.

    With harvest rates that rise with the client's number, energy and data go together.
    """

    dealer: Partition

    def with_users(self, users: IntArray | None) -> InLabelOrder:
        """Return the partition that knows who each example is from."""
        return InLabelOrder(with_users(self.dealer, users))

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return the same shares in another order."""
        shares = deal(self.dealer, targets, n_clients, seed)
        return sorted(shares, key=lambda share: float(targets[share].mean()))


def with_users(partition: Partition, users: IntArray | None) -> Partition:
    """Return the partition, with the user of each example if it has a method `with_users`."""
    take = getattr(partition, "with_users", None)
    informed: Partition = partition if take is None else take(users)
    return informed


def deal(partition: Partition, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
    """Return each client's example numbers; raise an error if one is missing or repeated, or a client has none.

    >>> class Everything:
    ...     def partition(self, targets, n_clients, seed):
    ...         return [range(len(targets))] * n_clients
    >>> deal(Everything(), np.zeros(4), 2, seed=0)
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: partition must be one that deals every example to one client, \
got example 0 dealt to clients 0 and 1 (Everything, seed 0)
    """
    shown = targets.view()
    shown.flags.writeable = False  # the task's array is shared by all runs
    with renamed(lambda name: name if name in ("clients", "partition") else f"partition.{name}"):
        found = partition.partition(shown, n_clients, seed)

    def broken(rule: str, given: str) -> InvalidValue:
        return InvalidValue("partition", f"one that {rule}", f"{given} ({type(partition).__name__}, seed {seed})")

    if not isinstance(found, Sequence | np.ndarray) or len(found) != n_clients:
        given = f"{len(found)} lists" if isinstance(found, Sequence | np.ndarray) else short(repr(found))
        raise broken(f"returns a list of example numbers for each of {n_clients} clients", given)
    shares = [_as_share(share, client, len(targets), broken) for client, share in enumerate(found)]
    owners = np.repeat(np.arange(n_clients), [share.size for share in shares])
    numbers = np.concatenate(shares)
    times = np.bincount(numbers, minlength=len(targets))
    once = "deals every example to one client"
    if times.max() > 1:
        twice = int(times.argmax())
        first, second = owners[numbers == twice][:2]
        whom = f"twice to client {first}" if first == second else f"to clients {first} and {second}"
        raise broken(once, f"example {twice} dealt {whom}")
    if times.min() == 0:
        lost = np.flatnonzero(times == 0)
        raise broken(once, f"{lost.size} of {len(targets)} examples not dealt, such as {lost[0]}")
    return shares


def _as_share(given: object, client: int, n_examples: int, broken: Callable[[str, str], InvalidValue]) -> IntArray:
    try:
        share = np.asarray(given)
    except ValueError:  # lists inside it, of different lengths
        share = np.array(None)
    if share.size == 0:
        raise broken("gives every client an example", f"none for client {client}")
    if share.ndim != 1 or share.dtype.kind not in "iu":
        raise broken("returns lists of whole numbers", f"{share.dtype} of shape {share.shape} for client {client}")
    outside = share[(share < 0) | (share >= n_examples)]
    if outside.size:
        raise broken(f"returns example numbers in [0, {n_examples - 1}]", f"{outside[0]} for client {client}")
    return share.astype(np.int64, copy=False)


def _class_labels(targets: Targets, partition: Partition) -> IntArray:
    """Return the targets as class labels; the error otherwise names the partitions that need none."""
    if targets.ndim != 1 or targets.dtype.kind not in "iu":
        allowed = "iid or a user class where targets are not labels: dirichlet and shards need whole numbers"
        given = f"{type(partition).__name__} for {targets.dtype} of shape {targets.shape}"
        raise InvalidValue("partition", allowed, given)
    return targets


def _check_enough(targets: Targets, n_clients: int, parameter: str = "", each: int = 1) -> None:
    """Raise an error if there are too few examples for `each` (the value of `parameter`) per client."""
    examples = len(targets)
    whole_number("clients", n_clients, low=1)
    if each > max(1, examples):  # not even one client could be served
        raise InvalidValue(parameter, f"at most {examples} (the examples)", each)
    if n_clients * each > examples:
        need = "the examples" if each == 1 else f"{examples} examples, at least {each} for each client"
        raise InvalidValue("clients", f"at most {examples // each} ({need})", n_clients)


def check_partition(partition: Partition, *, targets: Targets | None = None, clients: int = 10, seed: int = 0) -> None:
    """Test a partition on two seeds; raise BrokenRules with a list of the faults.

    The check passes silently if every example goes to exactly one client, each client gets some, and a repeated call
    returns the same shares. The default targets are labels of ten classes.

    >>> class Halves:
    ...     def partition(self, targets, n_clients, seed):
    ...         return np.array_split(np.arange(len(targets) // 2), n_clients)
    >>> check_partition(Halves())
    Traceback (most recent call last):
    ehfl.validation.BrokenRules: Halves breaks the rules:
      - must be one that deals every example to one client, \
got 200 of 400 examples not dealt, such as 200 (Halves, seed 0)
    """
    partition = PARTITIONS.make(partition)
    whole_number("clients", clients, low=1, high=100_000 if targets is None else None)
    labels = np.arange(_EACH * clients) % 10 if targets is None else np.asarray(targets)
    first = check_seed(seed)
    for one in (first, (first + 1) % 2**64):
        faults = list(_faults(partition, labels, clients, one))
        if faults:
            raise BrokenRules(type(partition).__name__, faults)


def _faults(partition: Partition, targets: Targets, n_clients: int, seed: int) -> Iterator[str]:
    deals = []
    for _ in range(2):
        try:
            deals.append(deal(partition, targets, n_clients, seed))
        except InvalidValue as error:
            yield str(error).removeprefix("partition ") if error.name == "partition" else f"fails: seed {seed}, {error}"
            return
        except FAILURES as error:  # user code may raise anything, also when it changes the targets, which are read-only
            yield f"fails: seed {seed}, {blame(partition, error)}"
            return
    for client, (one, other) in enumerate(zip(*deals, strict=True)):
        if not np.array_equal(one, other):
            detail = f"seed {seed}, asked twice, client {client} got other examples the second time"
            yield f"is not reproducible: {detail} (chance comes from the seed alone: np.random.default_rng(seed))"
            return
