"""The lines of a comparison's table on who is served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ehfl.analysis.cells import Cell, Quantity, estimate_cell, gap_cell, metric_cell, p_value_lines
from ehfl.analysis.numbers import DASH, amount
from ehfl.history import Metric

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.rows import Row
    from ehfl.analysis.statistics import Estimate

ACCURACY = Metric("accuracy", bounds=(0, 1))  # what classes and clients are judged by, whatever the task's metric is
GROUP = "Who is served"
_BY_CLIENT = "Accuracy under each client's own mixture of labels, after the last round"


def served_lines(rows: Sequence[Row], *, to: str) -> list[Quantity[Row]]:
    """Return the lines on the worst class and the worst clients, none where the task has no classes.

    `to` says which arms differences are to.
    """
    if all(row.worst_class is None for row in rows):
        return []
    gaps: list[Quantity[Row]] = [
        Quantity(GROUP, "difference [points]", f"Accuracy of the worst class minus that of {to}, whichever "
                 "class it is, over pairs of runs that met the same; in bold if p < 0.05 after Holm's correction",
                 lambda row: gap_cell(ACCURACY, row.worst_class_difference), nested=True),
        *p_value_lines(GROUP, rows, lambda row: row.worst_class_difference),
    ]  # fmt: skip
    clients: list[Quantity[Row]] = [
        Quantity(GROUP, "worst tenth of clients", f"{_BY_CLIENT}: mean over the tenth of the clients that a run serves "
                 "worst, at least one", lambda row: metric_cell(ACCURACY, row.worst_tenth)),
        Quantity(GROUP, "spread over clients [points]", f"{_BY_CLIENT}: standard deviation over clients",
                 lambda row: _points(row.client_spread)),
    ]  # fmt: skip
    return [
        Quantity(GROUP, "worst class", "Accuracy of the class that a run gets the least right of, after the last "
                 "round, mean over seeds and 95 % interval", lambda row: metric_cell(ACCURACY, row.worst_class)),
        Quantity(GROUP, "lowest on average", "The class whose accuracy is the lowest, mean over seeds",
                 lambda row: Cell(row.worst_class_name or DASH), nested=True),
        *(gaps if any(row.worst_class_difference for row in rows) else ()),
        *(clients if any(row.worst_tenth for row in rows) else ()),
    ]  # fmt: skip


def class_lines(comparison: Comparison) -> list[Quantity[Row]]:
    """Return a line for each class; refuse a comparison whose arms have none, or not the same."""
    from ehfl.analysis.served import final_by_class, known_classes
    from ehfl.analysis.statistics import estimate

    def cell(place: int, row: Row) -> Cell:
        found = final_by_class(comparison.arm(row.arm))
        if found is None or np.isnan(found[:, place]).any():
            return Cell(DASH)
        return metric_cell(ACCURACY, estimate(found[:, place]))

    means = "Its accuracy after the last round, mean over seeds and 95 % interval"
    return [
        Quantity("By class", f"class {name}", means, partial(cell, place))
        for place, name in enumerate(known_classes(comparison.arms))
    ]


def _points(found: Estimate | None) -> Cell:
    """Return a spread of shares in points of a percent."""
    if found is None or found.low is None or found.high is None:
        return Cell(DASH if found is None else amount(100 * found.mean))
    return estimate_cell(replace(found, mean=100 * found.mean, low=100 * found.low, high=100 * found.high))
