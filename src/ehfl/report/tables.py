"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rich.table import Table

from ehfl.scheduling import Summary


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
        table.add_column(name, justify="right", overflow="fold")
    return table


def summary_table(summaries: Mapping[str, Summary]) -> Table:
    """Return schedulers side by side, one a column, a figure a row; fits 80 columns for up to five of usual size."""
    target = next(iter(summaries.values())).target
    table = side_by_side(summaries, caption=f"target: {target:,} clients a round")
    for label, value in _ROWS.items():
        table.add_row(label, *(value(summary) for summary in summaries.values()))
    return table
