"""What a round takes of a participant [J and s]: waking and joining, bits both ways, and training.

profiles.toml has devices and radios by name, with a source for every figure.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from ehfl.validation import InvalidValue, closest, number_in, whole_number

_MOST = "[0, 1e30]"
_ABOVE_ZERO = "(0, 1e30]"
_BITS = 8  # a byte
_MOST_SAMPLES = 10**15


@dataclass(frozen=True, slots=True)
class Device:
    """A computing device: its efficiency, for any network, or the measured energy per sample of one network.

    >>> Device(flop_per_joule=5e8).joules(samples=250, flop_per_sample=127_488)
    0.063744
    >>> Device(joules_per_sample=0.25).joules(samples=100)
    25.0
    """

    flop_per_joule: float | None = None  # [FLOP/J]
    joules_per_sample: float | None = None  # of training, forward and backward [J]
    flop_per_second: float | None = None  # None if unknown, as the next one
    memory: float | None = None  # [bytes]

    def __post_init__(self) -> None:
        if self.flop_per_joule is None and self.joules_per_sample is None:
            raise InvalidValue("flop_per_joule", "given, or joules_per_sample in its place", "neither")
        if self.flop_per_joule is not None and self.joules_per_sample is not None:
            raise InvalidValue(
                "joules_per_sample",
                "left out where flop_per_joule is given: either says it all",
                self.joules_per_sample,
            )
        for name, number in asdict(self).items():
            if number is not None:
                number_in(name, number, _MOST if name == "joules_per_sample" else _ABOVE_ZERO)

    def joules(self, samples: int, flop_per_sample: float | None = None) -> float:
        """Return the energy of training on `samples` samples: samples * (flop_per_sample / flop_per_joule) [J]."""
        whole_number("samples", samples, low=0, high=_MOST_SAMPLES)
        if self.joules_per_sample is not None:
            return samples * self.joules_per_sample
        assert self.flop_per_joule is not None  # one of them is
        if flop_per_sample is None:
            raise InvalidValue("flop_per_sample", "given where a device is described by its FLOP/J", "nothing")
        return samples * number_in("flop_per_sample", flop_per_sample, _MOST) / self.flop_per_joule

    def seconds(self, samples: int, flop_per_sample: float | None = None) -> float:
        """Return the time of training on `samples` samples [s], NaN if it is unknown."""
        if self.flop_per_second is None or flop_per_sample is None:
            return math.nan
        return samples * flop_per_sample / self.flop_per_second


@dataclass(frozen=True, slots=True)
class Radio:
    """A radio: its energy per session and per bit, and its speed, None where that is unknown."""

    session: float  # from waking to being joined, and back to sleep [J]
    joules_per_bit_up: float  # that the client sends [J/bit]
    joules_per_bit_down: float  # that it receives [J/bit]
    session_seconds: float | None = None  # [s]
    bits_per_second_up: float | None = None
    bits_per_second_down: float | None = None
    duty_cycle: float = 1.0  # the share of the time in which it may send

    def __post_init__(self) -> None:
        for name, number in asdict(self).items():
            if number is not None:
                within = {
                    "duty_cycle": "(0, 1]",
                    "bits_per_second_up": _ABOVE_ZERO,
                    "bits_per_second_down": _ABOVE_ZERO,
                }
                number_in(name, number, within.get(name, _MOST))


@dataclass(frozen=True, slots=True)
class RoundCost:
    """The cost of one client's turn, by part [J].

    >>> cost = RoundCost(session=0.5, download=0.25, upload=0.25, computing=1.0)
    >>> cost.total, cost.base, cost.step(local_steps=5)
    (2.0, 1.0, 0.2)
    """

    session: float
    download: float
    upload: float
    computing: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.base + self.computing

    @property
    def base(self) -> float:
        """The cost without any computing."""
        return self.session + self.download + self.upload

    def step(self, local_steps: int) -> float:
        """Return the cost of one of K local steps: base + K * step is the total."""
        return self.computing / whole_number("local_steps", local_steps, low=1)

    def parts(self) -> Iterator[tuple[str, float]]:
        """Yield the parts by name, in the order of a turn except computing, which is last."""
        for field in fields(self):
            yield field.name, getattr(self, field.name)


@dataclass(frozen=True, slots=True)
class RoundTime:
    """The time of one client's turn, by part [s]; NaN for parts of which no figure is known.

    >>> RoundTime(session=1.0, download=2.0, upload=3.0, silence=27.0, computing=math.nan).total
    33.0
    """

    session: float
    download: float
    upload: float
    silence: float  # in which a duty cycle forbids to send, after the upload
    computing: float

    @property
    def total(self) -> float:
        """The sum of the parts that are known."""
        return sum(seconds for _, seconds in self.parts() if not math.isnan(seconds))

    def parts(self) -> Iterator[tuple[str, float]]:
        """Yield the parts by name, in the order of a turn except computing, which is last."""
        for field in fields(self):
            yield field.name, getattr(self, field.name)


def round_time(
    device: Device,
    radio: Radio,
    *,
    model_bytes: int,
    samples: int,
    flop_per_sample: float | None = None,
    models_down: int = 1,
    models_up: int = 1,
) -> RoundTime:
    """Return the time of a round for a participant, from the same arguments as `round_cost`.

    After an upload of s seconds a radio with duty cycle d is silent for s (1/d - 1) seconds.

    >>> radio = radio_of("lora-sf9")
    >>> time = round_time(device_of("cortex-m4"), radio, model_bytes=115, samples=0, flop_per_sample=1)
    >>> round(time.upload, 6), round(time.silence, 6)
    (0.676864, 67.009536)
    """
    bits = _BITS * model_bytes
    speeds = [math.nan if one is None else one for one in (radio.bits_per_second_down, radio.bits_per_second_up)]
    upload = bits * models_up / speeds[1]
    return RoundTime(
        session=math.nan if radio.session_seconds is None else float(radio.session_seconds),
        download=bits * models_down / speeds[0],
        upload=upload,
        silence=0.0 if radio.duty_cycle == 1 else upload * (1 / radio.duty_cycle - 1),
        computing=device.seconds(samples, flop_per_sample),
    )


def round_cost(
    device: Device,
    radio: Radio,
    *,
    model_bytes: int,
    samples: int,
    flop_per_sample: float | None = None,
    models_down: int = 1,
    models_up: int = 1,
) -> RoundCost:
    """Return the cost of a round for a participant.

    cost = session + 8 bytes (models_down J/bit down + models_up J/bit up) + K batch (FLOP a sample / FLOP per J)

    `samples` is K * batch, `flop_per_sample` of forward and backward. It is the paper's one unit a round (section 2) in
    joules. Bytes are those of the model alone: headers and repeated packets are not known.

    >>> radio = Radio(session=0.543, joules_per_bit_up=3e-8, joules_per_bit_down=2e-8)
    >>> cost = round_cost(Device(5e8), radio, model_bytes=24_360, samples=250, flop_per_sample=127_488)
    >>> [f"{name} {joules:.4f}" for name, joules in cost.parts()]
    ['session 0.5430', 'download 0.0039', 'upload 0.0058', 'computing 0.0637']
    """
    bits = _BITS * whole_number("model_bytes", model_bytes, low=0, high=_MOST_SAMPLES)
    down, up = (whole_number(name, n, low=0) for name, n in (("models_down", models_down), ("models_up", models_up)))
    return RoundCost(
        session=float(radio.session),
        download=bits * down * radio.joules_per_bit_down,
        upload=bits * up * radio.joules_per_bit_up,
        computing=device.joules(samples, flop_per_sample),
    )


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in SI units, its source, how it was measured, and the arithmetic if it was derived."""

    value: float
    source: str
    how: str  # chip or board, idle draw included or not, stated or computed; and when
    arithmetic: str = ""
    weak: bool = False  # an assumption or a limit stands in for a measurement


@dataclass(frozen=True, slots=True)
class Profile:
    """A device or a radio from the data file."""

    name: str
    what: str  # description
    wrong: str  # limitations of its figures
    figures: Mapping[str, Figure]  # by field of Device or Radio

    def values(self) -> dict[str, float]:
        """Return the numbers without their sources."""
        return {name: figure.value for name, figure in self.figures.items()}

    def weak(self) -> list[str]:
        """Return the names of the weak figures."""
        return [name for name, figure in self.figures.items() if figure.weak]


def devices() -> dict[str, Profile]:
    """Return the known devices by name.

    >>> devices()["cortex-m4"].figures["flop_per_joule"].arithmetic
    '16283 * 100 * 1000 / (255.6237 * 0.003328 * 3.3)'
    """
    return dict(_profiles()["devices"])


def radios() -> dict[str, Profile]:
    """Return the known radios by name.

    >>> radios()["esp32-wifi-mqtt"].values()["session"]
    0.543
    """
    return dict(_profiles()["radios"])


def device_of(name: str | None, **own: float | None) -> Device:
    """Return a device by its name, or with given figures, which replace the profile's.

    >>> device_of("stm32f722", joules_per_sample=0.01)
    Device(flop_per_joule=None, joules_per_sample=0.01, flop_per_second=None, memory=256000.0)
    """
    given = _given(own)
    known = {} if name is None else _named("device", name, devices()).values()
    if not known and not given:
        raise InvalidValue("device", _allowed(devices()), "nothing")
    either = {"flop_per_joule", "joules_per_sample"}
    if given.keys() & either:  # one of them suffices, so a given one replaces the profile's
        known = {name: figure for name, figure in known.items() if name not in either}
    return Device(**(known | given))


def radio_of(name: str | None, **own: float | None) -> Radio:
    """Return a radio by its name, with given figures in place of the profile's.

    >>> radio_of("ble", session=0.01).session
    0.01
    """
    given = _given(own)
    known = {} if name is None else _named("radio", name, radios()).values()
    missing = [one.name for one in fields(Radio) if one.default is MISSING and one.name not in known | given]
    if missing:
        raise InvalidValue("radio", f"{_allowed(radios())}, or {', '.join(missing)} given", "nothing")
    return Radio(**(known | given))


def _given(figures: Mapping[str, float | None]) -> dict[str, float]:
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
    text = files("ehfl.energy").joinpath("profiles.toml").read_text(encoding="utf-8")
    return {
        kind: {name: _profile(name, table) for name, table in tables.items()}
        for kind, tables in tomllib.loads(text).items()
    }


def _profile(name: str, table: dict[str, Any]) -> Profile:
    figures = {key: Figure(**value) for key, value in table.items() if isinstance(value, dict)}
    return Profile(name, table["what"], table["wrong"], figures)
