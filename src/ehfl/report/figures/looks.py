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

_NIGHT = "#15181c"  # the page's background in dark mode, see page.css
_CONTRAST = 6.0  # of a line on it; WCAG asks for 3, and 4.5 for text
_PALER = {"#56B4E9": "#88ccee"}  # by night, where myopic's blue becomes as pale as this one is by day


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

    @property
    def night(self) -> str:
        """The colour on a dark page."""
        return by_night(self.colour)


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


def by_night(colour: str) -> str:
    """Return the colour, mixed with as much white as a dark background asks for.

    >>> by_night("#E69F00"), by_night("#444444")
    ('#e69f00', '#989898')
    """
    if colour in _PALER:
        return _PALER[colour]
    rgb = _channels(colour)
    for white in range(0, 101, 5):
        mixed = [c + (1 - c) * white / 100 for c in rgb]
        if (_luminance(mixed) + 0.05) / (_luminance(_channels(_NIGHT)) + 0.05) >= _CONTRAST:
            break
    return "#" + "".join(f"{round(255 * c):02x}" for c in mixed)


def _channels(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def _luminance(rgb: list[float]) -> float:
    """Return the relative luminance (WCAG 2.1)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
