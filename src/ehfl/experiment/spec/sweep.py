"""A sweep: the arms of a spec at each of several points, which are values of keys; each arm at a point is an arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from ehfl.experiment.spec.overrides import SHORT
from ehfl.runs import Facts
from ehfl.scheduling import SCHEDULERS
from ehfl.validation import SpecError, is_label, short

_MOST_LETTERS = 24  # of a value in a label


def points_of(sweep: Any) -> list[Facts]:
    """Return the values of each point by key: all combinations, the last key's values first; `zip` pairs them instead.

    >>> points_of({"fleet": {"capacity": [1, 2]}, "target": [3, 4]})[1]
    {'fleet.capacity': 1, 'target': 4}
    >>> points_of({"fleet.capacity": [1, 2], "target": [3, 4], "zip": True})
    [{'fleet.capacity': 1, 'target': 3}, {'fleet.capacity': 2, 'target': 4}]
    """
    if not isinstance(sweep, Mapping):
        raise SpecError("sweep", f"must be a table of keys and lists of values, got {short(repr(sweep))}")
    paired = sweep.get("zip", False)
    if not isinstance(paired, bool):
        raise SpecError("sweep.zip", f"must be true or false, got {short(repr(paired))}")
    lists = swept_lists({key: values for key, values in sweep.items() if key != "zip"})
    if not lists:
        raise SpecError("sweep", "must name at least one key, such as fleet.capacity = [1, 2, 5]")
    for key, values in lists.items():
        if not isinstance(values, list | tuple) or not values:
            raise SpecError(f"sweep.{key}", f"must be a list of values, at least one, got {short(repr(values))}")
    counts = {key: len(values) for key, values in lists.items()}
    if paired and len(set(counts.values())) > 1:
        found = ", ".join(f"{key} {count}" for key, count in counts.items())
        raise SpecError("sweep", f"must have equally many values of each key with zip, got {found}")
    rows = zip(*lists.values(), strict=True) if paired else product(*lists.values())
    return [dict(zip(lists, row, strict=True)) for row in rows]


def swept_lists(sweep: Mapping[str, Any], prefix: str = "") -> Facts:
    """Return a sweep's lists of values by dotted key, from dotted keys and nested tables alike."""
    found: Facts = {}
    for name, values in sweep.items():
        key = SHORT.get(f"{prefix}{name}", f"{prefix}{name}")
        found |= swept_lists(values, f"{key}.") if isinstance(values, Mapping) else {key: values}
    return found


def shown_point(point: Facts, points: Sequence[Facts]) -> Facts:
    """Return a point's values as labels, tables and figures have them: numbers, and short strings for all else."""
    return {key: _shown(value, [one[key] for one in points]) for key, value in point.items()}


def _shown(value: Any, values: Sequence[Any]) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, Mapping) and "name" in value:
        text = SCHEDULERS.text(dict(value))
    else:
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    fits = is_label(text, most=_MOST_LETTERS) and not set(text) & set("$[]\\")
    return text if fits else f"no. {1 + list(values).index(value)}"
