"""Amounts with units: "5 Wh", "1 h", "2 mW" as numbers of joules, seconds and watts, and the other way."""

from __future__ import annotations

import math
import re

from ehfl.validation import InvalidValue

_PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
UNITS = {
    "J": {f"{prefix}J": factor for prefix, factor in _PREFIXES.items()}
    | {f"{prefix}Wh": 3600 * factor for prefix, factor in _PREFIXES.items()},
    "W": {f"{prefix}W": factor for prefix, factor in _PREFIXES.items()},
    "s": {"ms": 1e-3} | _SECONDS,
}
_SHOWN = {"J": "J, mJ, kJ, Wh, mAh at V", "W": "W, mW, kW", "s": "s, min, h, d"}
_NUMBER = r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*"
_QUANTITY = re.compile(_NUMBER + r"([A-Za-zµ]+)\s*")
_CHARGE = re.compile(_NUMBER + r"(m?)Ah(?:\s*(?:at|@|x)?" + _NUMBER + r"V)?\s*")  # of a battery, at its voltage


def is_quantity(given: object) -> bool:
    """Return whether this is a string of a number and a unit, rather than the name of a file."""
    if not isinstance(given, str):
        return False
    found = _QUANTITY.fullmatch(given)
    return _CHARGE.fullmatch(given) is not None or (
        found is not None and any(found[2] in units for units in UNITS.values())
    )


def quantity(name: str, given: object, unit: str) -> float:
    """Return an amount in `unit` (J, W or s) from a number of it or a string with a unit.

    A charge needs its voltage: "2000 mAh at 3.7 V".

    >>> quantity("capacity", "5 Wh", "J"), quantity("round_length", "15 min", "s"), quantity("capacity", 40, "J")
    (18000.0, 900.0, 40.0)
    >>> quantity("capacity", "2000 mAh at 3.7 V", "J")
    26640.0
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    if isinstance(given, str) and unit == "J" and (charge := _CHARGE.fullmatch(given)):
        if charge[3] is None:
            raise InvalidValue(name, f'a charge with its voltage, as in "{given.strip()} at 3.7 V"', given)
        return float(charge[1]) * (1e-3 if charge[2] else 1.0) * 3600 * float(charge[3])
    found = _QUANTITY.fullmatch(given) if isinstance(given, str) else None
    factor = UNITS[unit].get(found[2]) if found else None
    if found is None or factor is None:
        example = {"J": "5 Wh", "W": "2 mW", "s": "1 h"}[unit]
        raise InvalidValue(
            name, f'a number [{unit}], or a string with a unit ({_SHOWN[unit]}) as in "{example}"', given
        )
    return float(found[1]) * factor


def as_energy(joules: float) -> str:
    """Return an amount of energy as people write it: three digits, J below a Wh, Wh above.

    >>> as_energy(0.0123), as_energy(40), as_energy(18000), as_energy(7.2e6)
    ('12.3 mJ', '40 J', '5 Wh', '2 kWh')
    """
    return in_prefixes(joules, "J") if abs(joules) < 3600 else in_prefixes(joules / 3600, "Wh")


def as_energies(*joules: float) -> list[str]:
    """Return amounts of energy that are compared, all in the unit of the largest.

    >>> as_energies(18000, 600), as_energies(40, 0.5), as_energies(1e9, 1)
    (['5 Wh', '0.167 Wh'], ['40 J', '0.5 J'], ['278 kWh', '2.78e-07 kWh'])
    """
    unit = as_energy(max(joules, key=abs)).split()[1]
    amounts = [float(f"{amount / UNITS['J'][unit]:.3g}") for amount in joules]
    return [f"{amount:,.10g} {unit}" for amount in amounts]


def as_power(watts: float) -> str:
    """Return a power as people write it.

    >>> as_power(0.0021), as_power(2), as_power(0)
    ('2.1 mW', '2 W', '0 W')
    """
    return in_prefixes(watts, "W")


def as_time(seconds: float) -> str:
    """Return a length of time in the largest unit that it has at least one of.

    >>> as_time(3600), as_time(90), as_time(0.5), as_time(172_800)
    ('1 h', '1.5 min', '0.5 s', '2 d')
    """
    unit = max((one for one in _SECONDS if seconds >= _SECONDS[one]), key=_SECONDS.__getitem__, default="s")
    return f"{seconds / _SECONDS[unit]:.4g} {unit}"


def as_bytes(size: float) -> str:
    """Return a size of memory as people write it.

    >>> as_bytes(7_025_704), as_bytes(256_000)
    ('7.03 MB', '256 kB')
    """
    return in_prefixes(size, "B")


def in_prefixes(amount: float, unit: str) -> str:
    """Return an amount with three digits and a prefix before its unit.

    >>> in_prefixes(5.8001e8, "FLOP/J"), in_prefixes(2.97e-8, "J/bit up"), in_prefixes(0, "J")
    ('580 MFLOP/J', '29.7 nJ/bit up', '0 J')
    """
    if not math.isfinite(amount):
        return f"{amount} {unit}"
    prefixes = {name: factor for name, factor in _PREFIXES.items() if name != "u"}
    near = [name for name, factor in prefixes.items() if abs(amount) >= factor * 0.9995]  # 999.9 mJ is 1 J
    prefix = near[-1] if near else ("" if amount == 0 else "n")
    return f"{float(f'{amount / prefixes[prefix]:.3g}'):,.10g} {prefix}{unit}"
