"""What a plan says of the clairvoyant: how much any scheduler could have reached, and who reached how much of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from ehfl.analysis.numbers import percent
from ehfl.analysis.statistics import estimate
from ehfl.planning import Outlook, Plan
from ehfl.report.phrases import counted, spoken


def say_possible(plan: Plan) -> Iterator[str]:
    """Say what whoever had known all weather could have had, and what schedulers reached of it, the best first."""
    if not plan.possible:
        return
    least = min(best.least for best in plan.possible)
    had = f"could have had at most {counted(least, 'client')}" if least else "could not have had even one client"
    yield f"Whoever had known all weather {had} in every round from the first on that can be paid for{_reached(plan)}."


def share_facts(plan: Plan, one: Outlook) -> dict[str, Any] | None:
    """Return how much of what was possible a scheduler reached; None on mains power and with turns of fewer steps."""
    shares = plan.shares(one)
    if not shares:
        return None
    by_seed = {name: [getattr(share, name) for share in shares] for name in ("mean_sqrt", "least")}
    return {name: asdict(estimate(found)) | {"by_seed": found} for name, found in by_seed.items()}


def _reached(plan: Plan) -> str:
    found = {one.label: [share.mean_sqrt for share in plan.shares(one)] for one in plan.outlooks}
    means = {label: float(np.mean(shares)) for label, shares in found.items() if shares}
    if not means:
        return ""
    (first, most), *others = sorted(means.items(), key=lambda item: -item[1])
    at_least = "" if all(best.exact for best in plan.possible) else "at least "
    rest = "".join(f", {spoken(label)} {percent(share)}" for label, share in others)
    return f"; {spoken(first)} reached {at_least}{percent(most)} of the largest mean of sqrt(n_t){rest}"
