"""Sentences on what arms share, as their runs say: only runs that met the same are compared pair by pair."""

from __future__ import annotations

from itertools import combinations

from ehfl.analysis import Comparison
from ehfl.analysis.pairing import CONDITIONS, differing, has_common_seed, pairs
from ehfl.report.phrases import listed

_THEREFORE = "only runs that met the same are compared pair by pair"


def shared_sentence(comparison: Comparison) -> str:
    """Return which of weather, data and first model all arms share, and what follows where they do not share all.

    Empty for a single arm.
    """
    if len(comparison.arms) == 1:
        return ""
    if not any(has_common_seed(arm, other) for arm, other in combinations(comparison.arms, 2)):
        return "No two arms have a seed in common, so none are compared pair by pair."
    alike = comparison.shared
    unlike = [condition for condition in CONDITIONS if condition not in alike]
    if not unlike:
        return f"All arms met the same {listed(alike)}, seed by seed."
    if not alike:
        return f"Not all arms met the same {listed(unlike, 'or')}: {_THEREFORE}."
    same = f"All arms met the same {listed(alike)}, seed by seed"
    return f"{same}, but not the same {listed(unlike, 'or')}: {_THEREFORE}."


def why_unpaired(comparison: Comparison, arm: str, other: str) -> str:
    """Return why two arms have no runs that met the same, empty where they have."""
    one, another = comparison.arm(arm), comparison.arm(other)
    if pairs(one, another):
        return ""
    if not has_common_seed(one, another):
        return "they have no seed in common"
    return f"they did not meet the same {listed(differing(one, another), 'or')}"
