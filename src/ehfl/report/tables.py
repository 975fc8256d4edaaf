"""Tables for the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from ehfl.report import numbers
from ehfl.scheduling import Summary

if TYPE_CHECKING:  # see `numbers`
    from ehfl.experiment import Comparison, Difference, Estimate, Metric, Row


def _amount(value: float) -> str:
    return f"{value:,.2f}" if value < 1000 else f"{value:,.0f}"


_ROWS: dict[str, Callable[[Summary], str]] = {
    "participants, mean": lambda s: _amount(s.mean),
    "  standard deviation": lambda s: _amount(s.std),
    "  lowest, highest": lambda s: f"{s.min:,} to {s.max:,}",
    "empty rounds": lambda s: f"{s.empty_rounds:,}",
    "rounds on target": lambda s: f"{s.on_target:.1%}",
    "clients short a round": lambda s: _amount(s.shortfall),
    "energy spent": lambda s: f"{s.used:.1%}",
    "harvest wasted": lambda s: f"{s.waste:.1%}",
    "fairness (Jain)": lambda s: f"{s.fairness:.3f}",
}


def side_by_side(columns: Iterable[str], caption: str = "") -> Table:
    """Return an empty table: a column of labels, then one for each of these names."""
    table = Table(box=None, pad_edge=False, caption=caption or None, caption_justify="left")
    table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(escape(name), justify="right", overflow="fold")
    return table


def summary_table(summaries: Mapping[str, Summary]) -> Table:
    """Return schedulers side by side, one a column, a figure a row; fits 80 columns for up to five of usual size."""
    target = next(iter(summaries.values())).target
    table = side_by_side(summaries, caption=f"target: {target:,} clients a round")
    for label, value in _ROWS.items():
        table.add_row(label, *(value(summary) for summary in summaries.values()))
    return table


_ABREAST = 5  # arms that fit beside each other in 80 columns, in columns of so many letters:
_WIDTH = 9


def comparison_table(comparison: Comparison) -> Table:
    """Return the figures of arms side by side, mean over interval; more than five arms in blocks below each other."""
    cells = _cells(comparison)
    blocks = [range(at, min(at + _ABREAST, len(comparison.rows))) for at in range(0, len(comparison.rows), _ABREAST)]
    tables = [_block(comparison.rows, cells, block) for block in blocks]
    whole = tables[0]
    if len(tables) > 1:
        whole = Table.grid()
        whole.caption_justify = "left"
        for at, table in enumerate(tables):
            whole.add_row(table, end_section=at < len(tables) - 1)
    whole.caption = escape(_caption(comparison))
    return whole


def _block(rows: Sequence[Row], cells: Mapping[str, Sequence[str]], block: range) -> Table:
    table = side_by_side(_broken(rows[at].arm) for at in block)
    for label, row in cells.items():
        table.add_row(escape(label), *(row[at] for at in block))
    return table


def _cells(comparison: Comparison) -> dict[str, list[str]]:
    """Return the cells of each line of the table by its label, one for each arm."""
    metric, rows = comparison.metric, comparison.rows
    unit = " [points]" if numbers.in_percent(metric) else ""
    lines: dict[str, Callable[[Row], str]] = {
        f"final {metric.name}": lambda row: _stacked(metric, row.final),
        f"  difference{unit}": lambda row: _difference(metric, row.difference),
        "  p-value": lambda row: numbers.p_value(row.difference.p_value if row.difference else None),
        "area under the curve": lambda row: _stacked(metric, row.area),
    }
    if any(row.reached < row.seeds for row in rows):
        lines["seeds at the goal"] = lambda row: f"{row.reached} of {row.seeds}"
    lines |= {
        "rounds to goal": lambda row: numbers.at_most(row, _stacked(None, row.rounds_to_goal)),
        "energy to goal [units]": lambda row: numbers.at_most(row, _stacked(None, row.energy_to_goal)),
        "participants, mean": lambda row: numbers.amount(row.participants),
        "  standard deviation": lambda row: numbers.amount(row.participants_std),
        "  lowest (mean)": lambda row: numbers.amount(row.participants_min),
        "empty rounds": lambda row: numbers.amount(row.empty_rounds),
        "clients short a round": lambda row: numbers.amount(row.shortfall),
        "harvest wasted": lambda row: f"{100 * row.waste:.1f} %",
        "fairness (Jain)": lambda row: f"{row.fairness:.3f}",
        "slowdown, measured": lambda row: _stacked(None, row.measured_slowdown),
        "  predicted": lambda row: (
            numbers.DASH if row.predicted_slowdown is None else numbers.amount(row.predicted_slowdown)
        ),
        "  in the noise limit": lambda row: numbers.amount(row.noise_limit),
    }
    return {label: [cell(row) for row in rows] for label, cell in lines.items()}


def _stacked(metric: Metric | None, estimate: Estimate | None) -> str:
    """Return the mean, and its interval on a second line where there is one."""
    if estimate is None:
        return numbers.DASH
    return _over(numbers.value(metric, estimate.mean), numbers.interval(metric, estimate))


def _difference(metric: Metric, found: Difference | None) -> str:
    return numbers.DASH if found is None else _over(numbers.gap(metric, found.mean), numbers.interval(metric, found))


def _over(mean: str, interval: str) -> str:
    """Return two lines without the unit, which the label has."""
    return "\n".join(text.removesuffix(" points") for text in (mean, interval) if text)


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


def _caption(comparison: Comparison) -> str:
    goal = f"goal: {comparison.metric.name} {numbers.value(comparison.metric, comparison.goal)}"
    seeds = sorted({row.seeds for row in comparison.rows})
    over = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    against = f"differences to {comparison.rows[0].arm}; slowdowns relative to {comparison.best}"
    if seeds == [1]:
        return f"{goal}; {against}; one seed, so no intervals"
    return (
        f"{goal}; {against}; 95 % t-intervals over {over} seeds; "
        "p-values of paired t-tests, not corrected for several comparisons"
    )
