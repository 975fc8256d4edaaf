"""Arms whose audits say the same, and one name for them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from ehfl.analysis.audit import Audit


def alike(audits: Sequence[Audit]) -> list[list[Audit]]:
    """Return audits that say the same together, in their order: arms that differ in their aggregation alone, say."""
    found: dict[tuple[object, ...], list[Audit]] = {}
    for audit in audits:
        figures = audit.chances.turns, audit.chances.weights, *audit.deals
        found.setdefault((audit.spread, *(array.tobytes() for array in figures)), []).append(audit)
    return list(found.values())


def together(labels: Sequence[str]) -> str:
    """Return one name for several arms: what their labels begin with, where there are many.

    >>> together(["greedy"]), together(["greedy", "mifa"])
    ('greedy', 'greedy and mifa')
    >>> together(["greedy, mean", "greedy, mifa", "greedy, fedau"]), together(["mean", "mifa", "fedau"])
    ('greedy (3 arms)', 'mean and 2 more')
    """
    if len(labels) < 3:
        return " and ".join(labels)
    # Whole words alone: what mean and mifa both begin with names nothing.
    words = [re.split(r"(?<=[-/:, ])", label) for label in labels]
    shared = [parts[0] for parts in itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*words, strict=False))]
    begins = "".join(shared).rstrip("-/:, ")
    return f"{begins} ({len(labels)} arms)" if begins else f"{labels[0]} and {len(labels) - 1} more"
