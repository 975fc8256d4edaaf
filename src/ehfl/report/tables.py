"""Tables for the terminal: lines below each other, arms side by side. What they show is defined in `analysis.table`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ehfl.analysis.cells import Cell, Quantity, Subject
from ehfl.analysis.served_lines import class_lines
from ehfl.analysis.simulations import Simulations, simulated
from ehfl.analysis.table import caption, quantities

if TYPE_CHECKING:  # SciPy, behind comparisons, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis import Comparison

Line = tuple[str, tuple[str, ...]]  # a label, and what it says of each name, in one line or two
_WIDTH = 9  # letters of a name in a line, where it can be broken
_APART = 2  # blanks between columns
_CAPTION = 60  # letters that a caption may take in a line, however narrow the table


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A table of arms side by side: as many as there is room for, the others in blocks below; no figure is broken."""

    names: tuple[str, ...]
    lines: tuple[Line, ...]
    caption: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Give the blocks and the caption, as rich asks for them."""
        heads = self._heads(options.max_width)
        blocks = self._blocks(heads, options.max_width)
        for at, block in enumerate(blocks):
            if at:
                yield Text("")
            yield self._table(heads, block)
        if self.caption:
            room = max(_CAPTION, *(self._width(heads, block) for block in blocks))
            lines = Text(self.caption, style="table.caption").wrap(console, min(room, options.max_width))
            for line in lines:
                line.rstrip()
            yield Text("\n").join(lines)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Give the widths with one arm a block and with all arms abreast, as rich asks for them."""
        narrowest, widest = self._width(self._heads(0), range(1)), self._width(self.names, range(len(self.names)))
        return Measurement(narrowest, widest).with_maximum(options.max_width)

    def _heads(self, room: int) -> tuple[str, ...]:
        """Return the names as they stand above columns: in lines where they would not all fit abreast."""
        whole = self._width(self.names, range(len(self.names))) <= room
        return self.names if whole else tuple(map(_broken, self.names))

    def _blocks(self, heads: Sequence[str], room: int) -> list[range]:
        """Return the places of arms that stand abreast: as many as fit, at least one."""
        blocks = [range(1)]
        for place in range(1, len(heads)):
            longer = range(blocks[-1].start, place + 1)
            if self._width(heads, longer) <= room:
                blocks[-1] = longer
            else:
                blocks.append(range(place, place + 1))
        return blocks

    def _width(self, heads: Sequence[str], block: range) -> int:
        """Return how many letters a block takes."""
        columns = ((heads[place], *(cells[place] for _, cells in self.lines)) for place in block)
        widths = (max(len(part) for text in column for part in text.split("\n")) for column in columns)
        return max(len(label) for label, _ in self.lines) + sum(_APART + width for width in widths)

    def _table(self, heads: Sequence[str], block: range) -> Table:
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        for place in block:
            table.add_column(escape(heads[place]), justify="right", overflow="fold")
        for label, cells in self.lines:
            table.add_row(escape(label), *(escape(cells[place]) for place in block))
        return table


def summary_table(simulations: Mapping[str, Simulations]) -> SideBySide:
    """Return schedulers side by side, a figure a line."""
    many = list(simulations.values())
    wanted = many[0].summaries[0].target
    target = f"target: {wanted:,} client{'' if wanted == 1 else 's'} a round"
    seeds = many[0].seeds
    intervals = f"; means and 95 % t-intervals over {seeds} seeds" if seeds > 1 else ""
    losses = any(max(one.values("lost")) > 0 for one in many)
    shares = [share for one in many for share in one.shares]
    bound = "; what was possible is an upper bound" if any(share and not share.exact for share in shares) else ""
    lines = lines_of(simulated(seeds, losses=losses, possible=bool(shares)), many)
    return SideBySide(tuple(simulations), lines, f"{target}{intervals}{bound}")


def comparison_table(comparison: Comparison, *, by_class: bool = False) -> SideBySide:
    """Return the figures of arms side by side, mean over interval; a line for each class, too, where asked for."""
    names = tuple(row.arm for row in comparison.rows)
    lines = [*quantities(comparison), *(class_lines(comparison) if by_class else ())]
    return SideBySide(names, lines_of(lines, comparison.rows), caption(comparison))


def lines_of(
    lines: Iterable[Quantity[Subject]], subjects: Sequence[Subject]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what each line says of each subject, as `SideBySide` has it."""
    return tuple((line.indented, tuple(_stacked(line.cell(subject)) for subject in subjects)) for line in lines)


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
