"""The demo: what `ehfl compare` runs without a spec. experiments/demo.toml says the same, every value spelled out.

Two fleets that harvest as much in all. In the equal one all clients are alike, as in the paper, and nothing is left to
choose. In the unequal one half of them are shady and hold other digits than the sunny half, low ones above all: who is
heard decides which digits are learnt.
"""

from __future__ import annotations

from collections.abc import Iterable

from ehfl.run_folder import Facts

_UNEQUAL: Facts = {
    "fleet.rate": [0.2] * 5 + [0.8] * 5,
    "learning.partition": "shards:2",
    "learning.order": "by-label",
}
_ARMS: tuple[Facts, ...] = (
    {"label": "Equal fleet: myopic", "scheduler": "myopic"},
    {"label": "Equal fleet: greedy", "scheduler": "greedy"},
    {"label": "Unequal fleet: greedy", "scheduler": "greedy", **_UNEQUAL},
    {"label": "Unequal fleet: myopic", "scheduler": "myopic", **_UNEQUAL},
    {"label": "Unequal fleet: greedy + MIFA", "scheduler": "greedy", "aggregation": "mifa", **_UNEQUAL},
)
# Whoever changes one of these describes fleets, data or arms of their own, to which the demo's would not fit.
_DECIDED = (
    *("arms", "schedulers", "scheduler", "fleet"),
    *("learning.task", "learning.partition", "learning.order", "learning.aggregation"),
)


def demo(changed: Iterable[str]) -> Facts:
    """Return what the demo says beyond the defaults, given the keys that its user changes.

    >>> [arm["label"] for arm in demo(["rounds", "seeds"])["arms"]][0], demo(["fleet.capacity"])
    ('Equal fleet: myopic', {})
    """
    own = any(f"{key}.".startswith(f"{one}.") or f"{one}.".startswith(f"{key}.") for key in changed for one in _DECIDED)
    return {} if own else {"arms": [dict(arm) for arm in _ARMS]}
