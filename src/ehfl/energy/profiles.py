"""Devices and radios by name, from profiles.toml, where every figure has its source."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from ehfl.energy.cost import Device, Radio
from ehfl.validation import InvalidValue, closest


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, where it is from, and the arithmetic where it was derived, in SI units."""

    value: float
    source: str
    arithmetic: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """A device or a radio as the data file has it."""

    name: str
    what: str  # it is
    wrong: str  # where its figures mislead
    figures: Mapping[str, Figure]  # by the field of Device or Radio

    def values(self) -> dict[str, float]:
        """Return the numbers alone."""
        return {name: figure.value for name, figure in self.figures.items()}


def devices() -> dict[str, Profile]:
    """Return what computes, by name.

    >>> devices()["cortex-m4"].figures["flop_per_joule"].arithmetic
    '16283 * 100 * 1000 / (255.6237 * 0.003328 * 3.3)'
    """
    return dict(_profiles()["devices"])


def radios() -> dict[str, Profile]:
    """Return what talks, by name.

    >>> radios()["esp32-wifi-mqtt"].values()["session"]
    0.543
    """
    return dict(_profiles()["radios"])


def device_of(
    name: str | None, *, flop_per_joule: float | None = None, joules_per_sample: float | None = None
) -> Device:
    """Return a device by its name, or with a figure of one's own, which replaces the profile's.

    >>> device_of("cortex-m4", joules_per_sample=0.01)
    Device(flop_per_joule=None, joules_per_sample=0.01)
    """
    own = _given(flop_per_joule=flop_per_joule, joules_per_sample=joules_per_sample)
    known = {} if name is None else _named("device", name, devices()).values()
    if not known and not own:
        raise InvalidValue("device", _allowed(devices()), "nothing")
    return Device(**(own or known))  # either figure says it all, so one of the user's own replaces the profile's


def radio_of(
    name: str | None,
    *,
    session: float | None = None,
    joules_per_bit_up: float | None = None,
    joules_per_bit_down: float | None = None,
) -> Radio:
    """Return a radio by its name, with figures of one's own in the place of the profile's.

    >>> radio_of("ble", session=0.01)
    Radio(session=0.01, joules_per_bit_up=2.411e-08, joules_per_bit_down=1.926e-08)
    """
    own = _given(session=session, joules_per_bit_up=joules_per_bit_up, joules_per_bit_down=joules_per_bit_down)
    known = {} if name is None else _named("radio", name, radios()).values()
    missing = [field.name for field in fields(Radio) if field.name not in known | own]
    if missing:
        raise InvalidValue("radio", f"{_allowed(radios())}, or {', '.join(missing)} given", "nothing")
    return Radio(**(known | own))


def _given(**figures: float | None) -> dict[str, float]:
    return {name: figure for name, figure in figures.items() if figure is not None}


def _named(key: str, name: object, known: Mapping[str, Profile]) -> Profile:
    if not isinstance(name, str) or name not in known:
        hint = closest(name, known) if isinstance(name, str) else ""
        raise InvalidValue(key, _allowed(known), f"{name if isinstance(name, str) else repr(name)}{hint}")
    return known[name]


def _allowed(known: Mapping[str, Profile]) -> str:
    return f"one of {', '.join(known)}"


@cache
def _profiles() -> dict[str, dict[str, Profile]]:
    """Return the data file's devices and radios."""
    text = files("ehfl.energy").joinpath("profiles.toml").read_text(encoding="utf-8")
    return {
        kind: {name: _profile(name, table) for name, table in tables.items()}
        for kind, tables in tomllib.loads(text).items()
    }


def _profile(name: str, table: dict[str, Any]) -> Profile:
    figures = {key: Figure(**value) for key, value in table.items() if isinstance(value, dict)}
    return Profile(name, table["what"], table["wrong"], figures)
