"""Sentences on who took part: nobody at all, how steadily, and how close to the number wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ehfl.analysis import Comparison, Row
from ehfl.analysis.numbers import amount
from ehfl.analysis.worlds import World
from ehfl.report.phrases import in_short, listed, spoken


def idle_sentences(comparison: Comparison) -> Iterator[str]:
    """Say in which arms nobody ever took part, so that nothing was trained."""
    idle = [row for row in comparison.rows if not row.participants]
    if len(idle) == len(comparison.rows):
        yield "Nobody took part in any round: no model was trained, and each stayed as it began."
    elif idle:
        stayed = "its model stayed as it began" if len(idle) == 1 else "their models stayed as they began"
        yield f"Nobody ever took part under {listed(spoken(row.arm) for row in idle)}: {stayed}."


def turnout_sentences(comparison: Comparison) -> Iterator[str]:
    """Say of each world who was the steadiest and who the least steady, how far short of the target, and who least."""
    for world in comparison.worlds:
        if rows := [row for row in comparison.rows_of(world) if row.participants]:
            yield from _turnout(world, rows, alone=len(comparison.rows) == 1)


def _turnout(world: World, rows: Sequence[Row], *, alone: bool) -> Iterator[str]:
    wanted = f"the {world.target:,} wanted"
    if len(rows) == 1:
        name = "It" if alone else spoken(rows[0].arm, begins=True)
        yield f"{name} had {_participants(rows[0], wanted)}."
        return
    steadiest, loosest = (_as_steady(rows, which) for which in (min, max))
    if steadiest != loosest:
        first, last = _were(steadiest, "the steadiest", wanted), _were(loosest, "the least steady", wanted)
        yield f"{_beginning(world, steadiest)} {first}; {in_short(world, *loosest)} {last}."
    else:
        yield f"{f'{world.name}: all' if world.name else 'All'} arms were equally steady, {_spread(rows[0])}."
    # Who was the least short of the target, unless all were as short or the steadiest are meant.
    closest = [row for row in rows if amount(row.shortfall) == amount(min(row.shortfall for row in rows))]
    if len(closest) < len(rows) and closest != steadiest:
        short = _short(closest[0], wanted) or f"always with {wanted} or more"
        yield f"{_beginning(world, closest)} came closest to the target, {short}."


def _as_steady(rows: Sequence[Row], which: Callable[[Sequence[float]], float]) -> list[Row]:
    """Return the arms whose standard deviation reads the same as the lowest or the highest."""
    std = which([row.participants_std for row in rows])
    return [row for row in rows if amount(row.participants_std) == amount(std)]


def _beginning(world: World, rows: Sequence[Row]) -> str:
    """Return arms as a sentence has them that begins with them, and so with the world's name."""
    return listed([spoken(rows[0].arm, begins=True), *(in_short(world, row) for row in rows[1:])])


def _were(rows: Sequence[Row], what: str, wanted: str) -> str:
    if len(rows) == 1:
        return f"was {what}, with {_participants(rows[0], wanted)}"
    return f"were {what}, {_spread(rows[0])}"


def _spread(row: Row) -> str:
    return f"with a standard deviation of {amount(row.participants_std)} participants a round"


def _participants(row: Row, wanted: str) -> str:
    mean, short = amount(row.participants), _short(row, wanted)
    clients = f"{mean} participant{'' if mean == '1' else 's'} a round"
    return f"{clients} (standard deviation {amount(row.participants_std)}){f', {short}' if short else ''}"


def _short(row: Row, wanted: str) -> str:
    return f"{amount(row.shortfall)} of {wanted} missing on average" if row.shortfall else ""
