"""Lines of a comparison's table on energy and time: to the goal, and what became of it in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehfl.analysis.cells import Cell, Quantity, amount_cell, estimate_cell, percent_cell
from ehfl.analysis.numbers import value
from ehfl.analysis.scales import Scale
from ehfl.analysis.simulations import ENERGY, LOST, WASTED

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.rows import Row

_UNLESS = "nothing is given unless every seed did"


def goal_lines(comparison: Comparison) -> list[Quantity[Row]]:
    """Return how many rounds, how long and how much energy arms took to the goal."""
    group = f"To the goal of {value(comparison.metric, comparison.goal)}"
    reached: Quantity[Row] = Quantity(
        group, "seeds at the goal", "Seeds whose run came to the goal, of all seeds",
        lambda row: Cell(f"{row.reached} of {row.seeds}"),
    )  # fmt: skip
    energy = _energy_scale(comparison)
    return [
        *([reached] if any(row.reached < row.seeds for row in comparison.rows) else []),
        Quantity(group, "rounds to goal", f"Rounds until the {comparison.metric.name} came to the goal; {_UNLESS}",
                 lambda row: estimate_cell(row.rounds_to_goal)),
        *_time_line(comparison, group),
        Quantity(group, f"energy to goal [{energy.unit}]", "Energy that training took until then, all clients "
                 f"together; {_UNLESS}", lambda row: estimate_cell(energy.estimate(row.energy_to_goal))),
    ]  # fmt: skip


def _time_line(comparison: Comparison, group: str) -> list[Quantity[Row]]:
    if not comparison.clock.is_known:
        return []
    scale = comparison.clock.scale
    return [
        Quantity(group, f"time to goal [{scale.unit}]", f"How long these rounds take; {_UNLESS}",
                 lambda row: estimate_cell(scale.estimate(row.time_to_goal))),
    ]  # fmt: skip


def _energy_scale(comparison: Comparison) -> Scale:
    """Return what all energies of the table are shown in: that of the largest, so that they can be compared."""
    return comparison.energy_scale(max(row.energy_spent or 0.0 for row in comparison.rows))


def energy_lines(comparison: Comparison) -> list[Quantity[Row]]:
    """Return what became of the energy: what rounds took, what was wasted, and what was lost where anything was."""
    rows = comparison.rows
    scale = _energy_scale(comparison)
    spent: Quantity[Row] = Quantity(
        ENERGY, f"energy spent [{scale.unit}]", "Energy that all rounds took, all clients together, mean over seeds",
        lambda row: amount_cell(None if row.energy_spent is None else scale.of(row.energy_spent)),
    )  # fmt: skip
    lost: Quantity[Row] = Quantity(ENERGY, "energy lost", LOST, lambda row: percent_cell(row.lost))
    return [
        *([spent] if any(row.energy_spent is not None for row in rows) else []),
        Quantity(ENERGY, "harvest wasted", WASTED, lambda row: percent_cell(row.waste)),
        *([lost] if any(row.lost for row in rows) else []),
    ]
