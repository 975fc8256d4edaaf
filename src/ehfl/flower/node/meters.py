"""Meters: energy that is read from the device itself, by the name that node-config gives.

battery    the charge that the system reports (psutil), of a battery of known capacity
file       a number in a file, such as /sys/class/power_supply/BAT0/energy_now
command    a number that a command prints
"""

from __future__ import annotations

import math
import os
import shlex
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ehfl.extras import check_extra
from ehfl.registry import Registry
from ehfl.validation import FAILURES, InvalidValue, UserError, blame, is_number, one_line, positive_number, shown

# The quantum [J] of a fleet with this unit; the micro sign has two code points.
JOULES = {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "µJ": 1e-6, "μJ": 1e-6, "kJ": 1e3, "Wh": 3600.0, "mWh": 3.6}

_MOST_CHARACTERS = 1000  # read from a file or a command: no number is longer


class MeterError(UserError):
    """A meter that gives no reading; a node that cannot read its meter cannot take part."""


class Meter(Protocol):
    """A reader of the energy that a device has stored; implement it for another device."""

    def joules(self) -> float:
        """Return the stored energy [J]."""
        ...


@dataclass(frozen=True, slots=True)
class Battery:
    """The battery that the system reports, with its charge in percent: 3600 * capacity * percent / 100."""

    capacity: float  # when full [Wh]

    def __post_init__(self) -> None:
        positive_number("capacity", self.capacity)

    def joules(self) -> float:
        """Return the battery's charge [J]."""
        check_extra("flower")
        import psutil

        battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
        if battery is None:
            raise MeterError("the system reports no battery: give a meter of another kind (file, command)")
        return float(battery.percent) / 100 * self.capacity * 3600


@dataclass(frozen=True, slots=True)
class File:
    """A number in a file, times `scale`: the kernel's energy_now counts microwatt-hours, so its scale is 3.6e-3."""

    path: Path
    scale: float = 1.0  # [J] per unit of the number in the file

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        positive_number("scale", self.scale)

    def joules(self) -> float:
        """Return the current reading of the file [J]."""
        try:
            with self.path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_MOST_CHARACTERS)
        except OSError as error:
            raise MeterError(f"the meter {one_line(error)}") from None
        return _number(text, f"{self.path} says") * self.scale


@dataclass(frozen=True, slots=True)
class Command:
    """A number that a command prints, times `scale`; it runs without a shell, and is killed if it hangs."""

    line: str
    scale: float = 1.0  # [J] per unit of the printed number
    timeout: float = 5.0  # [s]

    def __post_init__(self) -> None:
        positive_number("scale", self.scale)
        positive_number("timeout", self.timeout)
        if not self._words():
            raise InvalidValue("line", "a command with its arguments", repr(self.line))

    def joules(self) -> float:
        """Return the printed reading [J]."""
        process = self._started()
        try:
            said, complaint = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            raise MeterError(f"the meter {shown(self.line)} did not end within {self.timeout:g} s") from None
        if process.returncode != 0:
            why = shown(complaint.decode(errors="replace").strip() or "it says nothing of why")
            raise MeterError(f"the meter {shown(self.line)} failed with exit code {process.returncode}: {why}")
        return _number(said.decode(errors="replace"), f"{shown(self.line)} prints") * self.scale

    def _started(self) -> subprocess.Popen[bytes]:
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        try:
            # A new session, so that the command's children can be ended with it.
            return subprocess.Popen(self._words(), stdin=nothing, stdout=pipe, stderr=pipe, start_new_session=True)
        except OSError as error:
            raise MeterError(f"the meter {shown(self.line)} cannot be started: {one_line(error)}") from None

    def _words(self) -> list[str]:
        try:
            return shlex.split(self.line)
        except ValueError as error:  # an unclosed quote
            raise InvalidValue("line", "a command with its arguments", f"{self.line} ({error})") from None


METERS: Registry[Meter] = Registry(
    "meter",
    {
        "battery": "ehfl.flower.node.meters:Battery",
        "file": "ehfl.flower.node.meters:File",
        "command": "ehfl.flower.node.meters:Command",
    },
    methods=("joules",),
)


def check_unit(unit: str, quantum: float | None = None) -> None:
    """Raise an error if neither the quantum nor the name of a fleet's unit gives its size in joules."""
    if quantum is None and unit not in JOULES:
        raise InvalidValue("fleet.unit", f"one of {', '.join(JOULES)} where a meter is read", unit)


def read_quanta(meter: Meter, unit: str, quantum: float | None = None) -> int:
    """Return the stored energy in integer quanta of that unit, rounded down; `quantum` is its size [J] if known.

    >>> read_quanta(Command("echo 0.57"), "mJ"), read_quanta(Command("echo 0.57"), "10 mJ", 0.01)
    (570, 57)
    """
    size = JOULES[unit] if quantum is None else quantum
    quanta = min(_joules(meter) / size, 2.0**53)  # larger than any level, and an exact integer
    # Round up within the floating-point error: 0.57 J / 1 mJ is 569.9999999999999.
    return math.floor(quanta * (1 + 1e-12))


def _joules(meter: Meter) -> float:
    """Return a reading; raise MeterError unless it is a finite number >= 0."""
    try:
        joules = meter.joules()
    except UserError:
        raise
    except FAILURES as error:  # a user's meter may raise anything
        raise MeterError(f"{type(meter).__name__} fails: {blame(meter, error)}") from error
    if not is_number(joules) or not math.isfinite(joules) or joules < 0:
        raise MeterError(f"{shown(meter)} must read a finite number of joules >= 0, got {shown(joules)}")
    return float(joules)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and its children; do not wait for one that cannot be killed, such as a command under sudo."""
    with suppress(PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=1)


def _number(text: str, whose: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MeterError(f"the meter must give a number, and {whose} {shown(repr(text.strip()))}") from None
