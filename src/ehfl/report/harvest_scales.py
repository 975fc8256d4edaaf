"""In what harvests are counted: one unit for a column or an axis, so that its numbers can be compared at a glance."""

from __future__ import annotations

from typing import NamedTuple

from ehfl.analysis.numbers import amount
from ehfl.quantities import UNITS, as_energy, as_power


class Scale(NamedTuple):
    """A unit, and how many of W, J or units it is."""

    factor: float
    unit: str

    def text(self, value: float) -> str:
        """Return an amount in this unit.

        >>> energy_scale(20_000).text(900)
        '0.250 Wh'
        """
        return f"{amount(value / self.factor)} {self.unit}".strip()


def power_scale(typical: float) -> Scale:
    """Return in what to count powers of about so many watts.

    >>> power_scale(0.52), power_scale(1.6)
    (Scale(factor=0.001, unit='mW'), Scale(factor=1.0, unit='W'))
    """
    unit = as_power(typical).split()[-1]
    return Scale(UNITS["W"][unit], unit)


def energy_scale(typical: float) -> Scale:
    """Return in what to count energies of about so many joules."""
    unit = as_energy(typical).split()[-1]
    return Scale(UNITS["J"][unit], unit)
