"""Comparisons made by hand whose models serve some classes and clients better than others. No training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ehfl.analysis import Comparison, Trial, compare
from made_trials import ACCURACY, made_trial

Shares = Sequence[float | None]


def served_trial(
    arm: str, seed: int, by_class: Shares, by_client: Shares | None = None, *, classes: Sequence[str] | None = None
) -> Trial:
    """A trial of four rounds that ends with these accuracies; its metric is the mean of the classes' that are known."""
    known = [share for share in by_class if share is not None]
    clients = 10 if by_client is None else len(by_client)
    trial = made_trial(arm, seed, {0: 0.1, 2: 0.2, 4: sum(known) / len(known)}, clients=clients)
    first, records = tuple(0.1 for _ in by_class), list(trial.records)
    records[0] = replace(records[0], first_by_class=first)
    for t, share in ((1, 0.5), (3, 1.0)):
        then = tuple(None if x is None else share * x for x in by_class)
        records[t] = replace(records[t], by_class=then, by_client=None if by_client is None else tuple(by_client))
    names = tuple(map(str, range(len(by_class)))) if classes is None else tuple(classes)
    labels = np.ones((clients, len(names)), dtype=np.int64)
    return replace(trial, records=records, classes=names, labels=labels)


def served(
    arms: Mapping[str, Sequence[Shares]],
    clients: Mapping[str, Sequence[Shares]] | None = None,
    classes: Sequence[str] | None = None,
) -> Comparison:
    """Return arms whose runs, one a seed, end with these accuracies of classes and of clients."""
    trials = [
        served_trial(arm, seed, shares, None if clients is None else clients[arm][seed], classes=classes)
        for arm, mine in arms.items()
        for seed, shares in enumerate(mine)
    ]
    return compare("served", trials, ACCURACY, target=1, goal=0.3)
