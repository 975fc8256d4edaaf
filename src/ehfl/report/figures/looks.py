"""How arms look, in figures and on the page alike: colours safe for colour-blind readers, dashes and markers.

A scheduler of ours has a colour of its own, so that it looks the same in every figure. It goes by the registered name
that the arm carries, never by the label, which is the user's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ehfl.analysis import Comparison

Line = Literal["-"] | tuple[float, tuple[float, ...]]  # as matplotlib writes line styles

# Okabe and Ito, "Color Universal Design", 2008; olive, indigo, wine, purple and what follows are of P. Tol's muted one.
_OWN = {
    "myopic": "#0072B2",
    "greedy": "#D55E00",
    "round-robin": "#009E73",
    "uniform-random": "#CC79A7",
    "always-on": "#444444",
    "oldest-first": "#8C6D31",
    "power-of-choice": "#56B4E9",
    "f3ast": "#882255",
    "energy-cycles": "#AA4499",
    "most-rounds-left": "#44AA99",
    "threshold": "#CC6677",
    "lyapunov": "#117733",
    "forecast": "#661100",
    "adaptive-steps": "#6699CC",
}
_SPARE = ("#E69F00", "#999933", "#332288")  # for a scheduler's further arms, and for user classes
_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.5), (1, 1.2), (5, 1.5, 1, 1.5))
_MARKERS = "os^DvP<X>p*h"


@dataclass(frozen=True, slots=True)
class Look:
    """How one arm is drawn."""

    colour: str  # on white
    dash: tuple[float, ...]  # lengths of strokes and gaps [line widths]; empty for a solid line
    marker: str  # at the end of its curve, as matplotlib names them

    @property
    def line(self) -> Line:
        """The dash as matplotlib's line style."""
        return (0, self.dash) if self.dash else "-"


def looks_of(comparison: Comparison) -> dict[str, Look]:
    """Return how each arm of a comparison looks."""
    worlds = {arm.name: place for place, world in enumerate(comparison.worlds) for arm in world.arms}
    return looks({arm.name: arm.scheduler for arm in comparison.arms}, worlds)


def looks(schedulers: Mapping[str, str], worlds: Mapping[str, int] | None = None) -> dict[str, Look]:
    """Return how each label looks, given the registered name of its scheduler, empty for a user class.

    In a further world, which `worlds` counts from 0, schedulers keep their colours, and dashes say which one it is.

    >>> chosen = looks({"lazy": "myopic", "eager": "myopic", "not-greedy": ""})
    >>> [chosen[label].colour for label in ("lazy", "eager", "not-greedy")]
    ['#0072B2', '#E69F00', '#999933']
    """
    found: dict[str, Look] = {}
    markers = cycle(_MARKERS)
    world = worlds or dict.fromkeys(schedulers, 0)
    for label, scheduler in schedulers.items():
        beside = [other for other in found if world[other] == world[label]]
        colour = _colour(scheduler, [found[other].colour for other in beside])
        drawn = [(look.colour, look.dash) for look in found.values()]
        # A scheduler's further arms are dashed, in whatever colour: lines that differ in colour alone fail in grey.
        further = sum(schedulers[other] == scheduler for other in beside) if scheduler else 0
        first = world[label] + further
        choices = [_DASHES[(first + n) % len(_DASHES)] for n in range(len(_DASHES))]
        dash = next((dash for dash in choices if (colour, dash) not in drawn), choices[0])
        found[label] = Look(colour, dash, next(markers))
    return found


def _colour(scheduler: str, taken: Sequence[str]) -> str:
    """Return the scheduler's own colour for its first arm, else a spare one; the rarest of both when all are taken."""
    own = _OWN.get(scheduler)
    if own is not None and own not in taken:
        return own
    return min(_SPARE if own is None else (own, *_SPARE), key=taken.count)
