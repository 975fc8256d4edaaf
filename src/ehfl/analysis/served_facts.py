"""What meta.json says of a run's classes, if it fits the run's rounds and clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ehfl.arrays import IntArray
from ehfl.history import Record, evaluations_of
from ehfl.validation import UserError, is_label


def served_facts(
    meta: Mapping[str, Any], records: Sequence[Record], n_clients: int
) -> tuple[tuple[str, ...], IntArray | None]:
    """Return the names of a run's classes and its clients' label counts; neither for a run without classes.

    >>> served_facts({"classes": ["cat", "dog"], "labels": [[3, 0], [1, 4]]}, [], n_clients=2)[1].tolist()
    [[3, 0], [1, 4]]
    """
    given, counts = meta.get("classes"), meta.get("labels")
    classes = tuple(given) if isinstance(given, list) else ()
    if given is not None and not (classes and all(is_label(name, most=1000) for name in classes)):
        raise UserError("meta.json does not say what its classes are called")
    for found in evaluations_of(records):
        if found.by_class is not None and len(found.by_class) != len(classes):
            raise UserError(f"meta.json names {len(classes)} classes, and rounds.jsonl has {len(found.by_class)}")
        if found.by_client is not None and len(found.by_client) != n_clients:
            raise UserError(f"rounds.jsonl has {len(found.by_client)} clients, and participation.npz {n_clients}")
    return classes, None if counts is None else _labels(counts, n_clients, len(classes))


def _labels(counts: Any, n_clients: int, n_classes: int) -> IntArray:
    try:
        found = np.array(counts)
    except ValueError:  # rows of different lengths
        found = np.array(None)
    if found.shape != (n_clients, n_classes) or found.dtype.kind != "i" or (found < 0).any():
        raise UserError(f"labels in meta.json must be {n_classes} counts for each of {n_clients} clients")
    return found
