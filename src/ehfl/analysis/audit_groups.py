"""Arms whose audits say the same, and one name for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from ehfl.analysis.audit import Audit


def alike(audits: Sequence[Audit]) -> list[list[Audit]]:
    """Return audits that say the same together, in their order: arms that differ in their aggregation alone, say."""
    found: dict[tuple[object, ...], list[Audit]] = {}
    for audit in audits:
        figures = audit.chances.turns, audit.chances.weights, *audit.deals
        found.setdefault((audit.spread, *(array.tobytes() for array in figures)), []).append(audit)
    return list(found.values())


def together(labels: Sequence[str]) -> str:
    """Return one name for several arms: what their labels begin with is said once, and of many it stands for all.

    >>> together(["greedy"]), together(["round-robin", "round-robin:1"])
    ('greedy', 'round-robin and round-robin:1')
    >>> together(["shady: mean", "shady: mifa"]), together(["shady: mean", "shady: mifa", "shady: fedau"])
    ('shady: mean and mifa', 'shady (3 arms)')
    >>> together(["mean", "mifa", "fedau"])
    'mean and 2 more'
    """
    # Up to a sign that parts a label: what mean and mifa both begin with names nothing.
    parts = [re.findall(r"[^:/,]*[:/,] *|[^:/,]+$", label) for label in labels]
    common = [part[0] for part in takewhile(lambda found: len(set(found)) == 1, zip(*parts, strict=False))]
    shared, rest = "".join(common), ["".join(part[len(common) :]) for part in parts]
    if len(labels) < 3:
        return " and ".join([labels[0], *rest[1:]])
    return f"{shared.rstrip(':/, ')} ({len(labels)} arms)" if shared else f"{labels[0]} and {len(labels) - 1} more"
