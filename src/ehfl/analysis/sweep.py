"""A comparison seen as a sweep: its rows by line (an arm at all points) and point (the value of each swept key)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ehfl.runs import point_name

if TYPE_CHECKING:
    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.rows import Row


@dataclass(frozen=True, slots=True)
class Sweep:
    """Lines and points of a comparison whose arms are those of a sweep."""

    keys: tuple[str, ...]
    points: Mapping[str, Mapping[str, Any]]  # the values by key, by what a point is called: "capacity 5"
    lines: Mapping[str, str]  # the registered name of the scheduler, by line; the most telling lines first
    rows: Mapping[tuple[str, str], Row]  # by line and point

    @classmethod
    def of(cls, comparison: Comparison) -> Sweep | None:
        """Return the sweep that the comparison is; None where arms have no points, a single one, or other keys."""
        points = {point_name(arm.point): arm.point for arm in comparison.arms}
        keys = {tuple(point) for point in points.values()}
        if len(points) < 2 or len(keys) > 1 or not any(keys):
            return None
        found = dict(zip((arm.name for arm in comparison.arms), comparison.rows, strict=True))
        rows = {(arm.line, point_name(arm.point)): found[arm.name] for arm in comparison.arms}
        lines = {arm.line: arm.scheduler for arm in comparison.arms}
        first = next(iter(lines))
        apart = {line: sum(is_apart(rows.get((line, point))) for point in points) for line in lines}
        ordered = sorted(lines, key=lambda line: (line != first, -apart[line]))
        return cls(keys.pop(), points, {line: lines[line] for line in ordered}, rows)

    @property
    def is_grid(self) -> bool:
        """Whether the points are all combinations of two keys' values."""
        if len(self.keys) != 2:
            return False
        first, second = (dict.fromkeys(point[key] for point in self.points.values()) for key in self.keys)
        return len(first) * len(second) == len(self.points) and min(len(first), len(second)) > 1


def is_apart(row: Row | None) -> bool:
    """Return whether an arm is shown to differ from the baseline of its point."""
    return row is not None and row.difference is not None and row.difference.distinguishable
