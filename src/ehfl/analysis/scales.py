"""What energy and time are shown in: joules, watt-hours, hours, days; the one place that decides it.

Facts are plain: energy is in the fleet's own unit or, where the size of its quanta is known, in joules; time is in
rounds or, where their length is known, in seconds. Whoever shows one asks for the scale of the largest that it shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from ehfl.analysis.numbers import amount
from ehfl.arrays import FloatArray

if TYPE_CHECKING:  # see numbers.py
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

    def text(self, x: float) -> str:
        """Return an amount with its unit, as a sentence has it.

        >>> Scale("Wh", 3600.0).text(4500.0), Scale("days", 86_400.0).text(86_400.0)
        ('1.25 Wh', '1 day')
        """
        number = amount(self.of(x))
        return f"{number} {self.unit_of(number)}"

    def unit_of(self, number: str) -> str:
        """Return what the unit is called after this number."""
        return "day" if self.unit == "days" and number == "1" else self.unit


def energy_scale(largest: float) -> Scale:
    """Return what energies up to so many joules are shown in: J below 3 Wh, and Wh above.

    >>> [energy_scale(joules).unit for joules in (0.02, 40.0, 10_000.0, 18_000.0, 7.2e7)]
    ['mJ', 'J', 'J', 'Wh', 'kWh']
    """
    return next((Scale(unit, size) for unit, size, end in _ENERGIES if largest < end), Scale("kWh", 1e3 * _WH))


def time_scale(longest: float) -> Scale:
    """Return what times up to so many seconds are shown in: hours below three days, and days above.

    >>> [time_scale(seconds).unit for seconds in (60.0, 3600.0, 86_400.0, 1_209_600.0)]
    ['s', 'min', 'h', 'days']
    """
    return next((Scale(unit, size) for unit, size, end in _TIMES if longest < end), Scale("days", _DAY))
