"""Tables for the terminal: lines below each other, arms side by side. What they show is defined in `analysis.table`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from ehfl.analysis.cells import Cell, Quantity, Subject
from ehfl.analysis.simulations import Simulations, simulated
from ehfl.analysis.table import caption, quantities

if TYPE_CHECKING:  # SciPy, behind comparisons, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis import Comparison

_ABREAST = 5  # arms that fit beside each other in 80 columns,
_WIDTH = 9  # in columns of so many letters


def side_by_side(columns: Iterable[str], caption: str = "") -> Table:
    """Return an empty table: a column of labels, then one for each of these names."""
    table = Table(box=None, pad_edge=False, caption=escape(caption) or None, caption_justify="left")
    table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(escape(name), justify="right", overflow="fold")
    return table


def summary_table(simulations: Mapping[str, Simulations]) -> Table:
    """Return schedulers side by side, one a column, a figure a row; fits 80 columns for up to five of usual size."""
    many = list(simulations.values())
    target = f"target: {many[0].summaries[0].target:,} clients a round"
    seeds = many[0].seeds
    intervals = f"; means and 95 % t-intervals over {seeds} seeds" if seeds > 1 else ""
    table = side_by_side(simulations, caption=f"{target}{intervals}")
    _fill(table, simulated(seeds), many)
    return table


def comparison_table(comparison: Comparison) -> Table:
    """Return the figures of arms side by side, mean over interval; more than five arms in blocks below each other."""
    rows = comparison.rows
    blocks = [rows[at : at + _ABREAST] for at in range(0, len(rows), _ABREAST)]
    tables = []
    for block in blocks:
        table = side_by_side(_broken(row.arm) for row in block)
        _fill(table, quantities(comparison), block)
        tables.append(table)
    whole = tables[0]
    if len(tables) > 1:
        whole = Table.grid()
        whole.caption_justify = "left"
        for at, table in enumerate(tables):
            whole.add_row(table, end_section=at < len(tables) - 1)
    whole.caption = escape(caption(comparison))
    return whole


def _fill(table: Table, lines: Iterable[Quantity[Subject]], subjects: Sequence[Subject]) -> None:
    for line in lines:
        table.add_row(escape(line.indented), *(_stacked(line.cell(subject)) for subject in subjects))


def _stacked(cell: Cell) -> str:
    """Return the figure, and half its interval's width on a second line where there is one."""
    return f"{cell.text}\n{cell.half_width}" if cell.half_width else cell.text


def _broken(name: str) -> str:
    r"""Return a name in lines that fit a column, broken behind blanks and signs.

    >>> _broken("round-robin:1"), _broken("paper/myopic"), _broken("Myopic, linear steps")
    ('round-\nrobin:1', 'paper/\nmyopic', 'Myopic,\nlinear\nsteps')
    """
    lines = [""]
    for part in re.findall(r"[^-/:_ ]+[-/:_ ]*|[-/:_ ]+", name):
        if lines[-1] and len((lines[-1] + part).rstrip()) > _WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)
