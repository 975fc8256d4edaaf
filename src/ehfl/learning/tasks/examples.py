"""Examples in memory or read from a dataset, and batches of them: a tensor, or a tuple or dict of tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ehfl.learning.engine.chance import Chance
from ehfl.validation import InvalidValue

Batch = Any  # a tensor, or a tuple or dict of tensors, with an example a row; outputs of a model may nest these
Key = int | str | tuple[str, ...]  # of a part of a dataset's item; several make a dict


@dataclass(frozen=True, eq=False, slots=True)
class Items:
    """Inputs that are read from a map-style dataset whenever they are drawn, anew each time: for augmentation."""

    dataset: Any
    key: Key
    digest: str  # of all inputs, read once

    def __len__(self) -> int:
        return len(self.dataset)

    def read(self, rows: Tensor) -> Batch:
        """Return the inputs of these items."""
        return _stacked([_part(self.dataset[row], self.key) for row in rows.tolist()])


@dataclass(frozen=True, eq=False, slots=True)
class Examples:
    """Inputs and targets; a minibatch is an index into them.

    >>> examples = Examples({"x": torch.ones(3, 2), "mask": torch.ones(3)}, torch.tensor([0, 1, 0]), users="aba")
    >>> inputs, targets = examples.batch(torch.tensor([2, 0]))
    >>> inputs["x"].shape, targets.tolist(), examples.users.tolist()
    (torch.Size([2, 2]), [0, 0], [0, 1, 0])
    """

    inputs: (
        Any  # a tensor (n_examples, ...), a tuple or dict of them, or `Items`; the model is called with a batch of it
    )
    targets: Tensor  # (n_examples, ...); class labels are whole numbers of shape (n_examples,)
    users: Any = None  # who each example is from, (n_examples,): any values; kept as numbers of users, sorted

    def __post_init__(self) -> None:
        kind = type(self.inputs).__name__
        parts = [] if isinstance(self.inputs, Items) else leaves(self.inputs)
        if not isinstance(self.inputs, Items) and not (parts and all(isinstance(one, Tensor) for one in parts)):
            allowed = "a tensor with an example a row, or a tuple or dict of these; a dataset is read by Examples.of"
            raise InvalidValue("examples.inputs", allowed, kind)
        if not isinstance(self.targets, Tensor):
            raise InvalidValue("examples.targets", "one tensor with an example a row", type(self.targets).__name__)
        for n_inputs in {len(one) for one in parts} or {len(self.inputs)}:
            if not n_inputs or n_inputs != len(self.targets):
                sizes = f"{n_inputs} inputs and {len(self.targets)} targets"
                raise InvalidValue("examples", "as many inputs as targets, at least one", sizes)
        if self.users is not None:
            codes = np.unique(np.array(list(self.users)), return_inverse=True)[1]
            if codes.shape != (len(self.targets),):
                raise InvalidValue("examples.users", f"one for each of {len(self.targets)} examples", codes.shape)
            object.__setattr__(self, "users", codes.astype(np.int64))

    def __len__(self) -> int:
        return len(self.targets)

    @staticmethod
    def of(
        dataset: Any, *, inputs: Key = 0, targets: int | str = 1, users: int | str | None = None, cached: bool = True
    ) -> Examples:
        """Return the items of a map-style torch Dataset, or of a Hugging Face one, as examples.

        `inputs`, `targets` and `users` are the places or keys of an item's parts; several keys of inputs make a dict.
        All items are read once. Without `cached` inputs are read again whenever they are drawn, so that augmentation
        differs from turn to turn; it must use torch's random numbers, which come from (seed, client, round).

        >>> Examples.of([(torch.ones(2), 3), (torch.zeros(2), 4)]).targets
        tensor([3, 4])
        """
        if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__") and len(dataset)):
            allowed = "a map-style one with items, len(dataset) and dataset[0] (list(...) makes one of an iterable)"
            raise InvalidValue("dataset", allowed, type(dataset).__name__)
        digest, found, labels, owners = hashlib.sha256(), [], [], []
        with Chance(seed=0):
            for row in range(len(dataset)):
                item = dataset[row]
                part = _tensors(_part(item, inputs))
                found += [part] if cached else []
                add_to(digest, part)
                labels.append(_part(item, targets))
                owners += [] if users is None else [_part(item, users)]
        made = _stacked(found) if cached else Items(dataset, inputs, digest.hexdigest())
        return Examples(made, _stacked(labels), owners or None)

    def batch(self, rows: Tensor) -> tuple[Batch, Tensor]:
        """Return inputs and targets of these rows, where the targets are."""
        place = self.targets.device
        rows, targets = rows.to(place), self.targets.index_select(0, rows.to(place))
        if isinstance(self.inputs, Items):
            return each(lambda value: value.to(place), self.inputs.read(rows)), targets
        return each(lambda value: value.index_select(0, rows), self.inputs), targets

    def some(self, count: int) -> tuple[Batch, Tensor]:
        """Return inputs and targets of at most `count` evenly spaced rows, as new tensors."""
        n_rows = min(count, len(self))
        return self.batch(torch.arange(n_rows) * (len(self) - 1) // max(1, n_rows - 1))

    def chunks(self, size: int) -> Iterator[Batch]:
        """Yield the inputs in order, `size` rows at a time."""
        for start in range(0, len(self), size):
            if isinstance(self.inputs, Items):
                yield self.batch(torch.arange(start, min(start + size, len(self))))[0]
            else:
                yield between(self.inputs, start, start + size)

    def to(self, device: torch.device) -> Examples:
        """Return the examples on a device; a dataset stays where it is, and its batches go there."""
        inputs = self.inputs if isinstance(self.inputs, Items) else each(lambda value: value.to(device), self.inputs)
        return Examples(inputs, self.targets.to(device), self.users)


def called(model: Callable[..., Any], inputs: Batch) -> Any:
    """Return a model's outputs: a tuple of inputs is passed by position, a dict by name."""
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple) else model(inputs)


def each(function: Callable[[Any], Any], value: Any) -> Any:
    """Return the same structure with the function of every leaf."""
    if isinstance(value, Mapping):
        return _like(value, {name: each(function, inner) for name, inner in value.items()})
    return tuple(each(function, inner) for inner in value) if isinstance(value, tuple) else function(value)


def _like(value: Any, found: dict[str, Any]) -> Any:
    """Return a dict as the class of this one, as the outputs of Hugging Face's models have their own."""
    return type(value)(**found) if isinstance(value, dict) else found


def between(batch: Batch, start: int, stop: int | None = None) -> Batch:
    """Return the rows from `start` to before `stop`."""
    return each(lambda value: value[start:stop], batch)


def leaves(value: Any) -> list[Any]:
    """Return the leaves of tuples and dicts, in their order."""
    found: list[Any] = []
    each(found.append, value)
    return found


def joined(parts: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Return the outputs of consecutive chunks of these sizes as those of all examples.

    What has no row for each example, such as a loss or a cache, is the first chunk's.

    >>> joined([{"logits": torch.ones(2, 3)}, {"logits": torch.ones(1, 3)}], [2, 1])["logits"].shape
    torch.Size([3, 3])
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, Mapping):
        return _like(first, {name: joined([part[name] for part in parts], sizes) for name in first})
    if isinstance(first, tuple):
        inner = [joined(values, sizes) for values in zip(*parts, strict=True)]
        return type(first)(*inner) if hasattr(first, "_fields") else tuple(inner)
    by_row = all(isinstance(one, Tensor) and one.shape[:1] == (n,) for one, n in zip(parts, sizes, strict=True))
    return torch.cat(list(parts)) if by_row else first


def add_to(digest: Any, value: Batch) -> None:
    """Add tensors to a fingerprint, each with shape and dtype, because the same bytes can mean other numbers."""
    for tensor in leaves(value):
        digest.update(f"{tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())


def _part(item: Any, key: Key) -> Any:
    try:
        return {name: item[name] for name in key} if isinstance(key, tuple) else item[key]
    except (KeyError, IndexError, TypeError) as error:
        held = f"one with {', '.join(map(str, item))}" if isinstance(item, Mapping) else type(item).__name__
        raise InvalidValue("dataset", f"one whose items have {key!r}", held) from error


def _tensors(part: Any) -> Batch:
    try:
        return each(lambda value: value if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value)), part)
    except (TypeError, ValueError) as error:
        raise _no_batch(error) from error


def _stacked(parts: Iterable[Any]) -> Batch:
    """Return a batch of items' parts."""
    columns = [_tensors(part) for part in parts]
    try:
        first = columns[0]
        if isinstance(first, Mapping):
            return {name: torch.stack([column[name] for column in columns]) for name in first}
        if isinstance(first, tuple):
            return tuple(torch.stack(values) for values in zip(*columns, strict=True))
        return torch.stack(columns)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        raise _no_batch(error) from error


def _no_batch(error: Exception) -> InvalidValue:
    allowed = "one with items of numbers, arrays or tensors of one shape (a transform makes them so)"
    return InvalidValue("dataset", allowed, str(error).splitlines()[0])
