"""One table for all: as plain text for terminals and table.txt, as HTML for the page and notebooks.

A `Quantity` is a row with its label, its meaning and its cell of each arm; what tables share stands here once.

The table of arms as rows has a column for each figure, all cells of it with the same digits; columns that have no room
are left out. The table of arms as columns has every figure; arms that have no room stand in blocks below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, Generic, TypeVar

from ehfl.report.write import p_value

if TYPE_CHECKING:  # SciPy, behind estimates, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis.statistics import Difference

_APART = 2  # spaces between columns
_NAME = 9  # letters of a column's name in a line, where it can be broken
_LABEL = 32  # letters of an arm's label before its row
_SWATCH = '<svg class="swatch" viewBox="0 0 40 8" aria-hidden="true"><path d="M2,4H38"/></svg>'  # see page.css
_CAPTION = 60  # letters that a caption may take in a line, however narrow the table


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of an arm, as it is read."""

    text: str
    half_width: str = ""  # of the 95 % interval, "± 0.9"; empty where there is none
    ends: str = ""  # of the same interval, "60.8 to 62.6"
    strong: bool = False

    @property
    def sentence(self) -> str:
        """The figure in a line, its interval's ends in brackets where there are any."""
        return f"{self.text} ({self.ends})" if self.ends else self.text

    @property
    def stacked(self) -> list[str]:
        """The figure, and half its interval's width on a line of its own where there is one."""
        return [*self.text.split("\n"), *([self.half_width] if self.half_width else [])]


@dataclass(frozen=True, slots=True)
class Line:
    """One row: a label, and a cell in each column."""

    label: str
    cells: tuple[Cell, ...]
    group: str = ""  # which neighbours it belongs to
    meaning: str = ""  # a sentence without its full stop
    nested: bool = False  # whether it says more of the line above


@dataclass(frozen=True, slots=True)
class Table:
    """Lines in groups under named columns, and what stands below them."""

    names: tuple[str, ...]  # of the columns
    lines: tuple[Line, ...]
    caption: str = ""  # parts with "; " between them; one on a column begins with its name's last line and a colon
    title: str = ""
    arms_are_rows: bool = False

    def text(self, width: int = 100) -> str:
        """Return the table as plain text of at most this width, unless a single column needs more."""
        names, widths = self.names, self._widths(self.names)
        if not self.arms_are_rows and _abreast(widths) > width:
            names = tuple(map(broken, names))
            widths = self._widths(names)
        blocks = _blocks(widths, width)
        caption = self.caption
        if self.arms_are_rows and len(blocks) > 1:
            hidden = names[blocks[0].stop :]
            left_out = ", ".join(name.replace("\n", " ").strip() for name in hidden)
            explaining = tuple(f"{name.splitlines()[-1].strip()}:" for name in hidden)
            parts = [part for part in caption.split("; ") if part and not part.startswith(explaining)]
            blocks, caption = blocks[:1], "; ".join([*parts, f"not shown here: {left_out}"])
        widest = max(_abreast([widths[0], *widths[block.start + 1 : block.stop + 1]]) for block in blocks)
        room = width if self.arms_are_rows else max(_CAPTION, widest)
        shown = ["\n".join(self._block(block, names, widths)) for block in blocks]
        return "\n".join(["\n\n".join(shown), *wrap(caption, min(room, width))])

    def html(self) -> str:
        """Return the table as HTML without style or script; a column of an arm is of class `arm-0`, with a swatch."""
        caption = f"<caption><span>{escape(self.caption)}</span></caption>\n" if self.caption else ""
        heads = "".join(map(self._html_head, range(len(self.names))))
        bodies = "".join(
            f"<tbody>\n{''.join(self._html_rows(group, lines))}</tbody>\n"
            for group, lines in groupby(self.lines, key=lambda line: line.group)
        )
        return f"<table>\n{caption}<thead><tr><td></td>{heads}</tr></thead>\n{bodies}</table>"

    def _html_head(self, place: int) -> str:
        name = escape(self.names[place]).replace("\n", "<br>")
        if self.arms_are_rows:
            return f'<th scope="col">{name}</th>'
        return f'<th scope="col" class="arm-{place}">{_SWATCH}{name}</th>'

    def _html_rows(self, group: str, lines: Iterable[Line]) -> Iterator[str]:
        across = f'colspan="{len(self.names) + 1}"'
        if group:
            yield f'<tr class="group"><th scope="rowgroup" {across}><span>{escape(group)}</span></th></tr>\n'
        for line in lines:
            if not line.cells:
                yield f"<tr><td {across}>{escape(line.label)}</td></tr>\n"
            else:
                nested = ' class="nested"' if line.nested else ""
                title = f' title="{escape(line.meaning)}"' if line.meaning else ""
                cells = "".join(map(_html_cell, line.cells))
                yield f'<tr><th scope="row"{nested}{title}>{escape(line.label)}</th>{cells}</tr>\n'

    def _widths(self, names: Sequence[str]) -> list[int]:
        """Return the letters that the labels take, and each column."""
        rows = [line for line in self.lines if line.cells]
        labels = [len(self._label(line)) for line in rows]
        columns = ([*name.split("\n"), *(text for line in rows for text in line.cells[place].stacked)]
                   for place, name in enumerate(names))  # fmt: skip
        return [max(labels), *(max(map(len, column)) for column in columns)]

    def _block(self, block: range, names: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
        """Yield the lines of columns that stand abreast."""
        heads = [names[place].split("\n") for place in block]
        deepest = max(map(len, heads))
        low = [[""] * (deepest - len(head)) + head for head in heads]  # names end just above their column
        yield from filter(None, self._row("", low, block, widths))
        for group, lines in groupby(self.lines, key=lambda line: line.group):
            if group and self.arms_are_rows:
                yield group
            for line in lines:
                stacked = [line.cells[place].stacked for place in block] if line.cells else [[""]]
                yield from self._row(self._label(line), stacked, block, widths)

    def _row(self, label: str, stacked: Sequence[Sequence[str]], block: range, widths: Sequence[int]) -> Iterator[str]:
        """Yield a row as text, in as many lines as its deepest cell has."""
        for at, texts in enumerate(zip_longest(*stacked, fillvalue="")):
            sizes = (widths[place + 1] for place in block)
            cells = (text.ljust(size) if self.arms_are_rows else text.rjust(size)
                     for text, size in zip(texts, sizes, strict=False))  # fmt: skip
            yield (" " * _APART).join([("" if at else label).ljust(widths[0]), *cells]).rstrip()

    def _label(self, line: Line) -> str:
        """Return the label with its indent; an arm's, which is the user's, is cut."""
        if not self.arms_are_rows:
            return f"  {line.label}" if line.nested else line.label
        fits = len(line.label) <= _LABEL or not line.cells  # without cells nothing stands beside it
        cut = line.label if fits else f"{line.label[: _LABEL - 3]}..."
        return f"  {cut}" if line.group else cut


Subject = TypeVar("Subject")  # what a table has one of for each arm: a Row, Simulations, an Audit

ENERGY, POSSIBLE = "Energy and turns", "Perfect foresight"  # groups
_WEIGHT = "weight in a plain mean of the participants, relative to equal weights"
_MEANINGS = {  # of rows that both played and trained arms have, by label
    "participants, mean": "Clients that took part in a round, mean over seeds",
    "standard deviation": "Standard deviation of n_t over the rounds",
    "empty rounds": "Rounds without any participant, mean over seeds",
    "clients short a round": "Mean of max(wanted - n_t, 0)",
    "harvest wasted": "Share of the harvest that arrived at full batteries",
    "energy lost": "Share of all energy that was lost in charging, leakage and standby",
    "fairness (Jain)": "Jain's index of the turns of clients: 1 where all have the same number",
    "chi^2 of weights": "N sum (q_i - 1/N)^2, where q_i is the weight of client i in a plain mean of the participants: "
    "0 if all are equal",
    "smallest weight [1/N]": f"Smallest {_WEIGHT}",
    "largest weight [1/N]": f"Largest {_WEIGHT}",
    "share of possible": "Mean of sqrt(n_t), relative to the largest that is achievable with perfect foresight",
    "of the lowest": "The same for the smallest n_t, from the first round that can have participants",
}


@dataclass(frozen=True, slots=True)
class Quantity(Generic[Subject]):
    """One line of a table."""

    group: str  # which neighbours it belongs to
    label: str
    meaning: str  # a sentence without its full stop
    cell: Callable[[Subject], Cell]
    nested: bool = False  # whether it says more of the line above


def shared(group: str, label: str, cell: Callable[[Subject], Cell], *, nested: bool = False) -> Quantity[Subject]:
    """Return a line that several tables have, with its meaning."""
    return Quantity(group, label, _MEANINGS[label], cell, nested)


def lines_of(quantities: Iterable[Quantity[Subject]], subjects: Sequence[Subject]) -> tuple[Line, ...]:
    """Return a line for each quantity, with the cells of these subjects."""
    return tuple(
        Line(one.label, tuple(map(one.cell, subjects)), one.group, one.meaning, one.nested) for one in quantities
    )


def p_value_lines(
    group: str, subjects: Sequence[Subject], gap_of: Callable[[Subject], Difference | None]
) -> list[Quantity[Subject]]:
    """Return the line of p-values of a line of differences, and where they are several that of the corrected ones."""

    def line(label: str, meaning: str, kind: str) -> Quantity[Subject]:
        return Quantity(group, label, meaning, lambda one: Cell(p_value(getattr(gap_of(one), kind, None))), nested=True)

    raw = line("p-value", "Student's paired t-test, two-sided, of each comparison alone", "p_value")
    meaning = "The same with Holm's correction for all comparisons of this line"
    tested = sum(found is not None and found.p_value is not None for found in map(gap_of, subjects))
    return [raw, *([line("p-value, Holm", meaning, "holm_p_value")] if tested > 1 else [])]


def side_by_side(names: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], caption: str = "") -> Table:
    """Return a table of arms as columns from plain texts."""
    return Table(tuple(names), tuple(Line(label, tuple(map(Cell, texts))) for label, texts in rows), caption)


def broken(name: str) -> str:
    r"""Return a name in lines that fit a column, broken after spaces and punctuation.

    >>> broken("round-robin:1"), broken("paper/myopic"), broken("Myopic, linear steps")
    ('round-\nrobin:1', 'paper/\nmyopic', 'Myopic,\nlinear\nsteps')
    """
    lines = [""]
    for part in re.findall(r"[^-/:_ ]+[-/:_ ]*|[-/:_ ]+", name):
        if lines[-1] and len((lines[-1] + part).rstrip()) > _NAME:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)


def _abreast(widths: Sequence[int]) -> int:
    return sum(widths) + _APART * (len(widths) - 1)


def _blocks(widths: Sequence[int], room: int) -> list[range]:
    """Return the places of columns that stand abreast: as many as fit beside the labels, at least one."""
    blocks, label = [range(1)], widths[0]
    for place in range(1, len(widths) - 1):
        longer = range(blocks[-1].start, place + 1)
        if _abreast([label, *widths[longer.start + 1 : longer.stop + 1]]) <= room:
            blocks[-1] = longer
        else:
            blocks.append(range(place, place + 1))
    return blocks


def _html_cell(cell: Cell) -> str:
    text = escape(cell.text.strip())
    text = f"<strong>{text}</strong>" if cell.strong else text
    text = "\u2007" * (len(cell.text) - len(cell.text.lstrip())) + text  # spaces as wide as digits, so that they align
    return f"<td>{text}{f'<small>{escape(cell.ends)}</small>' if cell.ends else ''}</td>"
