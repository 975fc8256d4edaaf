"""What a command prints: facts, one compact table, a verdict, and what to type next; and columns of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ehfl.report.tables.render import Cell, Line, Table
from ehfl.report.write import DASH, fixed, shown_decimals

if TYPE_CHECKING:  # SciPy, behind estimates, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis.statistics import Difference, Estimate

Column = tuple[str, Mapping[str, str]]  # a name in two lines, and cells by label, written with the same decimals
_UNITS = re.compile(r"(\d) (?=%|[µmkM]?(?:Wh|W|J)\b|(?:s|min|h|d)\b)")


@dataclass(frozen=True, slots=True)
class Output:
    """What a command prints."""

    facts: tuple[str, ...]  # the first is the title
    table: Table
    verdict: tuple[str, ...]  # at most five short sentences
    full: tuple[Table, ...]  # every row, shown in place of the table where asked for
    next: str  # what to type
    lines: tuple[str, ...] = ()  # of a file or another table, printed as they are


def unbroken(text: str) -> str:
    r"""Return a text in which no line ends between a number and its unit.

    >>> unbroken("12 Wh a day, 5 % of 3 clients")
    '12\xa0Wh a day, 5\xa0% of 3 clients'
    """
    return _UNITS.sub("\\1\u00a0", text)


def table_of(columns: Sequence[Column], labels: Sequence[str], note: str = "") -> Table:
    """Return a table with a row for each label; those of one group, "sunny: greedy", stand together under its name."""
    parts = [label.partition(": ") for label in labels]
    groups = [group for group, found, _ in parts if found]
    folds = len(groups) == len(labels) > len(set(groups))
    lines = (
        Line(short if folds else label, tuple(Cell(cells[label]) for _, cells in columns), group if folds else "")
        for label, (group, _, short) in zip(labels, parts, strict=True)
    )
    return Table(tuple(head for head, _ in columns), tuple(lines), note, arms_are_rows=True)


def number_column(
    head: str,
    found: Mapping[str, Estimate | Difference | float | None],
    factor: float = 1.0,
    *,
    missing: Mapping[str, str] = MappingProxyType({}),
    starred: Collection[str] = (),
    sign: str = "-",
    fine: bool = False,
) -> Column:
    """Return means with half their intervals, all with the same decimals, in line; a star behind those `starred`.

    Decimals are two digits of the widest interval; without intervals, three digits of the largest value. A column that
    is `fine` shows at least one digit of its smallest value and of three quarters of its intervals: one that is very
    wide, as two seeds can make it, would let the others be "± 0.0". `missing` has the cells of labels without a value.

    >>> number_column("clients", {"a": 4.853, "b": 5.0, "c": None})
    ('clients', {'a': '4.85', 'b': '5.00', 'c': '–'})
    """
    known = {label: one for label, one in found.items() if one is not None}
    means = {label: factor * (one if isinstance(one, int | float) else one.mean) for label, one in known.items()}
    halves = {label: factor * _half(one) for label, one in known.items()}
    decimals = _decimals(list(means.values()), [half for half in halves.values() if half], fine=fine)
    texts = {label: fixed(mean, decimals, sign) if math.isfinite(mean) else "inf" for label, mean in means.items()}
    width = max(map(len, texts.values()), default=0)
    cells = {label: missing.get(label, DASH) for label in found}
    for label, text in texts.items():
        half = f" ± {fixed(halves[label], decimals)}" if halves[label] else ""
        cells[label] = f"{text.rjust(width)}{half}{'*' if label in starred else ''}"
    return head, cells


def _decimals(means: Iterable[float], halves: Sequence[float], *, fine: bool) -> int:
    """Return the decimals of a column with these half widths of intervals.

    >>> _decimals([95.8, 88.9], [1.6, 1.1], fine=True), _decimals([0.3, 0.0004], [0.1], fine=True)
    (1, 4)
    >>> _decimals([1.35, 1.83], [0.01, 0.02, 0.01, 4.0], fine=True)
    2
    >>> _decimals([63.21], [], fine=True), _decimals([19.0, 63.0], [], fine=False)
    (1, 0)
    """
    sizes = [abs(mean) for mean in means if mean and math.isfinite(mean)]
    if not halves and (not sizes or (not fine and all(size == round(size) for size in sizes))):
        return 0
    decimals = shown_decimals(max(halves)) if halves else shown_decimals(max(sizes), digits=3)
    shown = [min(sizes)] if sizes else []
    shown += [sorted(halves)[len(halves) // 4]] if halves else []
    return max([decimals, *(shown_decimals(size, digits=1) for size in shown)]) if fine else decimals


def pair_column(head: str, first: Column, second: Column, between: str = ", ") -> Column:
    """Return two columns as one: "4.85, 0.63"."""
    return head, {label: f"{text}{between}{second[1][label]}" for label, text in first[1].items()}


def _half(found: Estimate | Difference | float) -> float:
    """Return half the width of a 95 % interval, 0 where there is none or every seed gave the same."""
    if isinstance(found, int | float) or found.low is None or found.high is None:
        return 0.0
    half = (found.high - found.low) / 2
    return half if math.isfinite(half) and half > 1e-9 * abs(found.mean) else 0.0
