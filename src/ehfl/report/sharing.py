"""A sentence on what arms share, as their runs say: only runs that met the same are compared pair by pair."""

from __future__ import annotations

from itertools import combinations

from ehfl.analysis import Comparison
from ehfl.analysis.pairing import CONDITIONS, has_common_seed
from ehfl.report.phrases import listed


def shared_sentence(comparison: Comparison) -> str:
    """Return which of weather, data and first model all arms share, and what follows where they do not share all.

    Empty for a single arm.
    """
    if len(comparison.arms) == 1:
        return ""
    if not any(has_common_seed(arm, other) for arm, other in combinations(comparison.arms, 2)):
        return "No two arms have a seed in common: none are compared."
    alike = comparison.shared
    unlike = [condition for condition in CONDITIONS if condition not in alike]
    same = f"All arms met the same {listed(alike)}, seed by seed" if alike else ""
    if len(comparison.worlds) == 1:
        return f"{same}."
    therefore = "each is compared with the first that met the same" if comparison.contests else "none are compared"
    if not unlike:
        return f"{same}, but not all have a seed in common: {therefore}."
    apart = f"the same {listed(unlike, 'or')}"
    return f"{same}, but not {apart}: {therefore}." if same else f"Not all arms met {apart}: {therefore}."
