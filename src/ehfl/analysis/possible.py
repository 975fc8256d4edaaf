"""How much of what any scheduler could have reached arms did reach: figures of rows, and their lines of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ehfl.analysis.cells import Quantity, metric_cell
from ehfl.analysis.simulations import POSSIBLE
from ehfl.history import Metric

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.rows import Row
    from ehfl.planning import Share

EXACT, BOUND = "exact", "an upper bound"
SHARE = Metric("share", bounds=(0, 1))


def with_shares(comparison: Comparison, shares: Mapping[str, Sequence[Share | None]]) -> Comparison:
    """Return the comparison with shares of what was possible, a seed each by arm; an arm that lacks one has none."""
    return replace(comparison, rows=tuple(_with_share(row, shares[row.arm]) for row in comparison.rows))


def _with_share(row: Row, shares: Sequence[Share | None]) -> Row:
    from ehfl.analysis.statistics import estimate

    found = [share for share in shares if share is not None]
    if not found or len(found) < len(shares):
        return row
    return replace(
        row,
        share_of_possible=estimate([share.mean_sqrt for share in found]),
        share_of_lowest=estimate([share.least for share in found]),
        possible=EXACT if all(share.exact for share in found) else BOUND,
    )


def possible_lines(rows: Sequence[Row]) -> list[Quantity[Row]]:
    """Return the shares of what was possible, where any arm has one."""
    if not any(row.possible for row in rows):
        return []
    group, unless = "What was possible", "nothing is given of arms on mains power or with turns of fewer steps"
    return [
        Quantity(group, "share of possible", f"Mean of sqrt(n_t), in parts of the largest that {POSSIBLE}; {unless}",
                 lambda row: metric_cell(SHARE, row.share_of_possible)),
        Quantity(group, "of the lowest", f"Fewest in a round from the first on that can have any, likewise: {POSSIBLE}",
                 lambda row: metric_cell(SHARE, row.share_of_lowest), nested=True),
    ]  # fmt: skip


def possible_caption(rows: Sequence[Row]) -> str:
    """Return what a reader has to know of the shares, if anything."""
    return "what was possible is an upper bound" if any(row.possible == BOUND for row in rows) else ""
