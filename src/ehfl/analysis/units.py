"""Units that energy and time are shown in (joules, watt-hours, hours, days), and how long rounds take.

Stored values have no scale: energy is in the fleet's own unit or, where the size of its quanta is known, in joules;
time is in rounds or, where their length is known, in seconds. A table or figure takes the scale of its largest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ehfl.arrays import FloatArray, IntArray

if TYPE_CHECKING:  # SciPy, behind estimates, loads slowly
    from ehfl.analysis.statistics import Estimate

_WH = 3600.0
_HOUR, _DAY = 3600.0, 86_400.0
# Units with what one of them is [J] or [s], and the amount from which on the next one is easier to read.
_ENERGIES = (("µJ", 1e-6, 1e-3), ("mJ", 1e-3, 1.0), ("J", 1.0, 3 * _WH), ("Wh", _WH, 1e4 * _WH))
_TIMES = (("s", 1.0, 120.0), ("min", 60.0, 2 * _HOUR), ("h", _HOUR, 3 * _DAY))

Amount = TypeVar("Amount", float, FloatArray)


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit that amounts are shown in."""

    unit: str  # "Wh"
    size: float = 1.0  # what one of it is [J] or [s]; 1 in a fleet's own unit

    def of(self, x: Amount) -> Amount:
        """Return amounts in this unit.

        >>> Scale("Wh", 3600.0).of(1800.0)
        0.5
        """
        return x / self.size

    def estimate(self, found: Estimate | None) -> Estimate | None:
        """Return an estimate in this unit, None where there is none."""
        if found is None:
            return None
        low, high = (None if end is None else self.of(end) for end in (found.low, found.high))
        return replace(found, mean=self.of(found.mean), low=low, high=high)


def energy_scale(largest: float) -> Scale:
    """Return the scale for energies up to `largest` joules: J below 3 Wh, and Wh above.

    >>> [energy_scale(joules).unit for joules in (0.02, 40.0, 10_000.0, 18_000.0, 7.2e7)]
    ['mJ', 'J', 'J', 'Wh', 'kWh']
    """
    return next((Scale(unit, size) for unit, size, end in _ENERGIES if largest < end), Scale("kWh", 1e3 * _WH))


def time_scale(longest: float) -> Scale:
    """Return the scale for times up to `longest` seconds: hours below three days, and days above.

    >>> [time_scale(seconds).unit for seconds in (60.0, 3600.0, 86_400.0, 1_209_600.0)]
    ['s', 'min', 'h', 'days']
    """
    return next((Scale(unit, size) for unit, size, end in _TIMES if longest < end), Scale("days", _DAY))


@dataclass(frozen=True, slots=True)
class Clock:
    """The length of each arm's rounds, where that is known of all, and what times are shown in."""

    lengths: Mapping[str, float]  # [s], by arm; empty where rounds have none
    scale: Scale

    @property
    def is_known(self) -> bool:
        """Whether rounds have a length."""
        return bool(self.lengths)

    @property
    def differs(self) -> bool:
        """Whether some arm's rounds are longer than another's, so that only time is the same for both."""
        return len(set(self.lengths.values())) > 1

    def times(self, arm: str, rounds: IntArray) -> FloatArray:
        """Return how long these numbers of rounds take, in the scale's unit."""
        return self.scale.of(np.asarray(rounds, dtype=np.float64) * self.lengths[arm])

    def places(self, arm: str, rounds: IntArray) -> FloatArray:
        """Return where on an axis an arm's rounds stand: by their number, unless their lengths differ."""
        return self.times(arm, rounds) if self.differs else np.asarray(rounds, dtype=np.float64)


def clock_of(lengths: Mapping[str, float | None], rounds: Mapping[str, int]) -> Clock:
    """Return the clock of arms whose rounds have these lengths [s] and numbers.

    >>> clock_of({"myopic": 3600.0, "greedy": 3600.0}, {"myopic": 336, "greedy": 336}).scale.unit
    'days'
    """
    known = {arm: length for arm, length in lengths.items() if length is not None}
    if len(known) < len(lengths):
        known = {}
    longest = max((length * rounds[arm] for arm, length in known.items()), default=0.0)
    return Clock(known, time_scale(longest))


NO_CLOCK = clock_of({}, {})  # of rounds without a length
