"""Battery and panel together: the smallest battery for each panel, prices, and a map of both."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.planning.search import Answer
from ehfl.planning.vary import Free
from ehfl.quantities import quantity
from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    from pandas import DataFrame

PANELS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)  # that are tried, in parts of the present one
BATTERIES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MAP_YEARS = 2  # that each cell of the map is played in
_PRICE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*/\s*([A-Za-z]+)\s*")
_FORM = {"battery": ("J", "battery=0.30/Wh"), "panel": ("W", "panel=1.2/W")}  # the SI unit, an example


@dataclass(frozen=True, slots=True)
class Prices:
    """What capacity and panels cost, in any currency."""

    battery: float  # [1/J]
    panel: float  # [1/W]

    @staticmethod
    def parse(given: Mapping[str, str], name: str = "prices") -> Prices:
        """Parse both prices.

        >>> Prices.parse({"battery": "0.25/J", "panel": "1.2/W"})
        Prices(battery=0.25, panel=1.2)
        """
        found = {}
        for part, (unit, example) in _FORM.items():
            text = given.get(part, "")
            matched = _PRICE.fullmatch(text)
            if matched is None:
                raise InvalidValue(name, f"both prices, as in {example}", text or "none for a " + part)
            found[part] = float(matched[1]) / float(quantity(name, f"1 {matched[2]}", unit))
        if other := given.keys() - _FORM.keys():
            raise InvalidValue(name, f"of {' and '.join(_FORM)}", ", ".join(sorted(other)))
        return Prices(**found)


@dataclass(frozen=True, eq=False, slots=True)
class SizeMap:
    """Panels and batteries of a fleet under a scheduler; a `Free` says what each value changes."""

    scheduler: str  # its label
    battery: Free
    panel: Free
    panels: tuple[float, ...]  # ascending
    batteries: tuple[float, ...]  # ascending
    shares: FloatArray  # of rounds as wanted, mean over MAP_YEARS years, (n_panels, n_batteries); NaN: cannot be played
    line: FloatArray  # the smallest battery that does in the first years, (n_panels,); NaN where none does
    years: int  # that the line rests on
    prices: Prices | None = None
    # By a panel's place, the battery in as many years as its interval needs: for the cheapest and those beside it.
    answers: Mapping[int, Answer] = field(default_factory=dict)

    def cost(self, place: int, battery: float) -> float:
        """Return the price of the whole fleet with a panel and this battery; infinite for NaN."""
        assert self.prices is not None
        capacity = battery * _total(self.battery, self.battery.table["capacity"])
        watts = self.panels[place] * _total(self.panel, self.panel.table["harvest"]["watts"])
        return math.inf if math.isnan(battery) else self.prices.battery * capacity + self.prices.panel * watts

    def find_cheapest(self, search_at: Callable[[int], Answer]) -> SizeMap:
        """Return the map with answers for panels of falling price, until those on both sides cost more.

        The line rests on few years, with which large batteries look smaller than they have to be.
        """
        places = np.flatnonzero(np.isfinite(self.line)).tolist()
        found = self
        best = min(places, key=lambda place: self.cost(place, float(self.line[place])), default=None)
        while best is not None:
            near = [place for place in places if abs(place - best) <= 1]
            found = replace(found, answers={place: search_at(place) for place in near} | dict(found.answers))
            if found.cheapest in (best, None):
                break
            best = found.cheapest
        return found

    @property
    def cheapest(self) -> int | None:
        """The place of the panel that costs least with the battery of its answer; None without any."""
        found = {place: self.cost(place, one.value) for place, one in self.answers.items() if one.found}
        return min(found, key=found.__getitem__, default=None)

    def frame(self) -> DataFrame:
        """Return a row for each panel and battery, and in `smallest` the battery that the panel needs [as in specs]."""
        import pandas as pd

        cells = [
            {"panel": panel, "battery": battery, "share": share, "smallest": smallest}
            for panel, row, smallest in zip(self.panels, self.shares, self.line, strict=True)
            for battery, share in zip(self.batteries, row, strict=True)
        ]
        return pd.DataFrame(cells)


def _total(free: Free, given: float | Sequence[float]) -> float:
    """Return the fleet's capacity or power for a value of 1: a factor of what each client has, or one size for all."""
    return float(np.sum(given)) if np.ndim(given) else float(free.table["clients"])


def map_shares(
    panels: Sequence[float], batteries: Sequence[float], play: Callable[[float, Sequence[float]], FloatArray]
) -> FloatArray:
    """Return the share of rounds as wanted, (n_panels, n_batteries); `play` gives those of batteries with a panel.

    Where a smaller panel has enough clients in all rounds, a larger one is not played: more sun does not harm.
    """
    shares = np.zeros((len(panels), len(batteries)))
    for row, panel in enumerate(panels):
        full = shares[:row].max(axis=0, initial=0.0) == 1.0
        shares[row, full] = 1.0
        if not full.all():
            shares[row, ~full] = play(panel, [one for one, done in zip(batteries, full, strict=True) if not done])
    return shares
