"""Lines of a comparison's table on how long arms take: as measured, and in the noise limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehfl.analysis.cells import Cell, Quantity, amount_cell, estimate_cell
from ehfl.analysis.compared_with import best_arms

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.rows import Row


def slowdown_lines(comparison: Comparison) -> list[Quantity[Row]]:
    """Return the lines on slowdowns, where there are arms to compare."""
    if not comparison.contests:
        return []
    best = best_arms(comparison)
    group, counted = ("Time", "Times") if comparison.clock.differs else ("Rounds", "Rounds")
    group = f"{group}, relative to {best}"
    compared = {arm.name for world in comparison.contests for arm in world.arms}

    def limit(row: Row) -> Cell:
        return amount_cell(row.noise_limit if row.arm in compared else None)

    return [
        Quantity(group, "slowdown, measured", f"{counted} to the goal over those of {best}, over pairs of runs that "
                 "met the same, and 95 % interval", lambda row: estimate_cell(row.measured_slowdown, null=1.0)),
        Quantity(group, "noise limit", "What theory says of a plain mean, whatever an arm aggregates by, if gradient "
                 "noise alone held learning back and clients' data did not differ", limit, nested=True),
    ]  # fmt: skip
