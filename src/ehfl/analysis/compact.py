"""A comparison's compact table: arms as rows, the columns that answer "who won, and at what price".

One definition for the terminal, table.txt, notebooks and the page. `table.quantities` has every figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ehfl.analysis.numbers import DASH, fixed, shown_decimals, value
from ehfl.quantities import as_time

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.rows import Row
    from ehfl.analysis.statistics import Difference, Estimate
    from ehfl.analysis.worlds import World

_APART = 2  # blanks between columns
_LONGEST = 32  # letters of an arm's label
_MOST_ARMS = 15  # rows of a world; of more, those without a difference shown are folded


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of all arms, written with the same decimals."""

    head: tuple[str, str]  # what it is; of what, or its unit
    cells: Mapping[str, str]  # by arm


@dataclass(frozen=True, slots=True)
class Group:
    """The arms of one world that are shown."""

    name: str  # empty where there is one world
    labels: Mapping[str, str]  # by arm, without the world's name
    folded: int  # arms that are not shown


@dataclass(frozen=True, slots=True)
class Compact:
    """The table: a line on the setting, columns, rows in groups, and what its signs mean."""

    title: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    note: str

    def text(self, width: int = 100) -> str:
        """Return the table as plain text; columns that do not fit the width are left out, and the note says so."""
        indent = "  " if any(group.name for group in self.groups) else ""
        labels = [indent + _cut(label) for group in self.groups for label in group.labels.values()]
        first = max(map(len, labels))
        widths = [max(map(len, (*column.head, *column.cells.values()))) for column in self.columns]
        fitting = max(1, sum(first + sum(_APART + one for one in widths[: n + 1]) <= width for n in range(len(widths))))
        shown = list(zip(self.columns, widths, strict=True))[:fitting]

        def line(label: str, texts: Sequence[str]) -> str:
            cells = (text.ljust(one) for text, (_, one) in zip(texts, shown, strict=True))
            return (" " * _APART).join([label.ljust(first), *cells]).rstrip()

        lines = [line("", [column.head[place] for column, _ in shown]) for place in (0, 1)]
        for group in self.groups:
            lines += [group.name] if group.name else []
            lines += [
                line(indent + _cut(label), [column.cells[arm] for column, _ in shown])
                for arm, label in group.labels.items()
            ]
            lines += [f"{indent}{_folded(group.folded)}"] if group.folded else []
        left_out = [" ".join(column.head).strip() for column in self.columns[fitting:]]
        more = f"; not shown here: {', '.join(left_out)}" if left_out else ""
        return "\n".join([*(text for text in lines if text.strip()), *wrap(f"{self.note}{more}", width)])

    def html(self) -> str:
        """Return the table as HTML without style or script."""
        heads = "".join(f'<th scope="col">{"<br>".join(map(escape, column.head))}</th>' for column in self.columns)
        rows = "".join(self._html_rows())
        return (
            f"<table>\n<caption>{escape(self.note)}</caption>\n"
            f"<thead><tr><th></th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"
        )

    def _html_rows(self) -> Iterator[str]:
        for group in self.groups:
            if group.name:
                name = f"<span>{escape(group.name)}</span>"
                yield f'<tr class="group"><th colspan="{1 + len(self.columns)}">{name}</th></tr>\n'
            for arm, label in group.labels.items():
                cells = "".join(f"<td>{escape(column.cells[arm].strip())}</td>" for column in self.columns)
                yield f'<tr><th scope="row">{escape(label)}</th>{cells}</tr>\n'
            if group.folded:
                yield f'<tr><td colspan="{1 + len(self.columns)}">{_folded(group.folded)}</td></tr>\n'


def compact(comparison: Comparison) -> Compact:
    """Return the compact table of a comparison."""
    return Compact(
        f"{comparison.name}: {setting(comparison)}",
        tuple(_columns(comparison)),
        tuple(_group(comparison, world) for world in comparison.worlds),
        _note(comparison),
    )


def setting(comparison: Comparison) -> str:
    """Return what was run, in one line: the metric, the task, rounds, local steps, seeds, clients wanted."""
    arms = comparison.arms
    parts = [
        f"{comparison.metric.name}{_common(comparison, ' on {}', 'learning', 'task', 'name')}",
        _from_to([arm.rounds for arm in arms], "round") + _length(comparison),
        _common(comparison, "K = {}", "learning", "local_steps"),
        _from_to([len(arm.seeds) for arm in arms], "seed"),
        f"{_wanted(comparison)} wanted a round",
    ]
    return ", ".join(part for part in parts if part)


def _common(comparison: Comparison, text: str, *keys: str) -> str:
    """Return the text with the value that every arm's spec has under these keys; empty where they differ or lack it."""
    found = {_at(arm.trials[0].spec, keys) for arm in comparison.arms}
    (one, *others) = found
    return "" if others or one is None else text.format(one)


def _at(spec: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        spec = spec.get(key) if isinstance(spec, Mapping) else None
    return spec if isinstance(spec, str | int) else None


def _length(comparison: Comparison) -> str:
    """Return how long rounds take, and how long all of them; empty where that is not known."""
    clock = comparison.clock
    if not clock.is_known:
        return ""
    seconds = {clock.lengths[arm.name] * arm.rounds for arm in comparison.arms}
    whole = f" ({clock.scale.text(seconds.pop())})" if len(seconds) == 1 else ""
    return f" of {' or '.join(dict.fromkeys(map(as_time, clock.lengths.values())))}{whole}"


def _wanted(comparison: Comparison) -> str:
    """Return how many of how many clients are wanted a round, once for all worlds that agree."""
    clients = [world.arms[0].trials[0].participation.n_clients for world in comparison.worlds]
    pairs = zip(comparison.worlds, clients, strict=True)
    return " or ".join(dict.fromkeys(f"{world.target:,} of {n:,} client{'' if n == 1 else 's'}" for world, n in pairs))


def _from_to(found: Sequence[int], noun: str) -> str:
    """Return the number, or the range of numbers.

    >>> _from_to([8, 8], "round"), _from_to([20, 8, 1000], "round"), _from_to([1], "seed")
    ('8 rounds', '8 to 1,000 rounds', '1 seed')
    """
    least, most = min(found), max(found)
    plural = "" if most == 1 else "s"
    return f"{most:,} {noun}{plural}" if least == most else f"{least:,} to {most:,} {noun}{plural}"


def _columns(comparison: Comparison) -> Iterator[Column]:
    metric, rows = comparison.metric, comparison.rows
    factor, unit = (100, "[%]") if metric.is_share else (1, "")
    yield _column((metric.name, unit), rows, lambda row: row.final, factor)
    if comparison.contests:
        baselines = {world.baseline: "baseline" for world in comparison.contests}
        points = "[points]" if metric.is_share else ""
        yield _column(("difference", points), rows, lambda row: row.difference, factor, lambda row: row.difference,
                      instead=baselines, sign="+")  # fmt: skip
    if any(row.worst_class for row in rows):
        yield _column(("worst", "class [%]"), rows, lambda row: row.worst_class, 100,
                      lambda row: row.worst_class_difference)  # fmt: skip
    yield from _to_goal(comparison)
    if any(row.share_of_possible for row in rows):
        yield _column(("share of", "possible [%]"), rows, lambda row: row.share_of_possible, 100)
    means = _plain([row.participants for row in rows]), _plain([row.participants_std for row in rows])
    cells = (f"{mean}, {deviation}" for mean, deviation in zip(*means, strict=True))
    yield Column(("clients", "a round, sd"), dict(zip((row.arm for row in rows), cells, strict=True)))
    weights = {row.arm: f"{row.least_weight:.2f}-{row.most_weight:.2f}" if row.chi_square else DASH for row in rows}
    yield Column(("weight in", "mean x N"), weights)


def _to_goal(comparison: Comparison) -> Iterator[Column]:
    """Yield what arms took to the goal: rounds, or times where rounds differ in length, and energy."""
    rows, clock, goal = comparison.rows, comparison.clock, value(comparison.metric, comparison.goal)
    # Where some run did not reach the goal there is no mean: how many did.
    missed = {row.arm: f"{row.reached} of {row.seeds}" for row in rows if row.rounds_to_goal is None}
    if clock.differs:
        head = (f"time to {goal}", f"[{clock.scale.unit}]")
        yield _column(head, rows, lambda row: clock.scale.estimate(row.time_to_goal), instead=missed)
    else:
        yield _column(("rounds to", goal), rows, lambda row: row.rounds_to_goal, instead=missed)
    largest = max((row.energy_to_goal.mean for row in rows if row.energy_to_goal), default=0.0)
    scale = comparison.energy_scale(largest)
    unit = "" if scale.unit == "units" else f" [{scale.unit}]"
    yield _column(("energy to", f"{goal}{unit}"), rows, lambda row: scale.estimate(row.energy_to_goal))


def _column(
    head: tuple[str, str],
    rows: Sequence[Row],
    estimate_of: Callable[[Row], Estimate | Difference | None],
    factor: float = 1.0,
    gap_of: Callable[[Row], Difference | None] = lambda _: None,
    *,
    instead: Mapping[str, str] | None = None,
    sign: str = "-",
) -> Column:
    """Return estimates with half their intervals, aligned; a star where `gap_of` is shown; `instead` by arm."""
    found = {row.arm: estimate_of(row) for row in rows}
    halves = {arm: _half(one) * factor for arm, one in found.items() if one}
    means = {arm: one.mean * factor for arm, one in found.items() if one}
    decimals = _decimals(list(means.values()), list(halves.values()), fine=sign == "-")
    starred = {row.arm for row in rows if (gap := gap_of(row)) and gap.distinguishable}
    texts = {arm: fixed(mean, decimals, sign) for arm, mean in means.items()}
    width = max(map(len, texts.values()), default=0)
    cells = {}
    for arm, text in texts.items():
        half = f" ± {fixed(halves[arm], decimals)}" if halves[arm] else ""
        cells[arm] = f"{text.rjust(width)}{half}{'*' if arm in starred else ''}"
    absent = {row.arm: (instead or {}).get(row.arm, DASH) for row in rows}
    return Column(head, absent | cells)


def _half(found: Estimate | Difference) -> float:
    half = 0.0 if found.low is None or found.high is None else (found.high - found.low) / 2
    return half if math.isfinite(half) and half > 1e-9 * abs(found.mean) else 0.0


def _decimals(means: Sequence[float], halves: Sequence[float], *, fine: bool) -> int:
    """Return decimals for a column: two digits of the widest interval, and where `fine` one of the smallest mean.

    >>> _decimals([95.8, 88.9], [1.1, 1.6], fine=True), _decimals([19.0, 63.0], [4.0, 19.0], fine=True)
    (1, 0)
    >>> _decimals([0.3, 0.0004], [0.1, 0.0001], fine=True), _decimals([63.21], [0.0], fine=True)
    (4, 1)
    """
    sizes = [abs(mean) for mean in means if mean and math.isfinite(mean)]
    widest = max(halves, default=0.0)
    if not sizes:
        return 0
    decimals = shown_decimals(widest) if widest else shown_decimals(max(sizes), digits=3)
    return max(decimals, shown_decimals(min(sizes), digits=1)) if fine else decimals


def _plain(numbers: Sequence[float]) -> list[str]:
    decimals = min(2, shown_decimals(max(numbers), digits=3)) if max(numbers) else 0
    texts = [fixed(number, decimals) for number in numbers]
    return [text.rjust(max(map(len, texts))) for text in texts]


def _group(comparison: Comparison, world: World) -> Group:
    rows = comparison.rows_of(world)
    shown = [row for row in rows if len(rows) <= _MOST_ARMS or row.arm == world.baseline or _is_shown(row)]
    name = world.name if len(comparison.worlds) > 1 else ""
    return Group(name, {row.arm: world.short(row.arm) for row in shown}, len(rows) - len(shown))


def _is_shown(row: Row) -> bool:
    return any(gap is not None and gap.distinguishable for gap in (row.difference, row.worst_class_difference))


def _folded(n: int) -> str:
    return f"{n} more without a difference shown: --full"


def _cut(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 3]}..."


def _note(comparison: Comparison) -> str:
    """Return what the table's signs mean."""
    tested = [row.difference for row in comparison.rows if row.difference and row.difference.p_value is not None]
    intervals = "one seed: no intervals" if all(row.seeds == 1 for row in comparison.rows) else (
        "± 95 % interval over seeds"
    )  # fmt: skip
    holm = ", Holm-corrected" if len(tested) > 1 else ""
    return intervals + (f"; * p < 0.05 against the baseline, paired t-test{holm}" if tested else "")
