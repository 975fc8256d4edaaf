"""What a round costs a participant [J]: waking and joining, bits both ways, and training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from ehfl.validation import InvalidValue, number_in, whole_number

_MOST = "[0, 1e30]"
_ABOVE_ZERO = "(0, 1e30]"
_BITS = 8  # a byte
_MOST_SAMPLES = 10**15


@dataclass(frozen=True, slots=True)
class Device:
    """What computes: by its efficiency, for any network, or by what a sample of one network was measured to take.

    >>> Device(flop_per_joule=5e8).joules(samples=250, flop_per_sample=127_488)
    0.063744
    >>> Device(joules_per_sample=0.25).joules(samples=100)
    25.0
    """

    flop_per_joule: float | None = None  # [FLOP/J]
    joules_per_sample: float | None = None  # of training, forward and backward [J]

    def __post_init__(self) -> None:
        if self.flop_per_joule is None and self.joules_per_sample is None:
            raise InvalidValue("flop_per_joule", "given, or joules_per_sample in its place", "neither")
        if self.flop_per_joule is not None and self.joules_per_sample is not None:
            raise InvalidValue(
                "joules_per_sample",
                "left out where flop_per_joule is given: either says it all",
                self.joules_per_sample,
            )
        if self.flop_per_joule is not None:
            number_in("flop_per_joule", self.flop_per_joule, _ABOVE_ZERO)
        else:
            number_in("joules_per_sample", self.joules_per_sample, _MOST)

    def joules(self, samples: int, flop_per_sample: float | None = None) -> float:
        """Return what it takes to train on so many samples: samples * (flop_per_sample / flop_per_joule) [J]."""
        whole_number("samples", samples, low=0, high=_MOST_SAMPLES)
        if self.joules_per_sample is not None:
            return samples * self.joules_per_sample
        assert self.flop_per_joule is not None  # one of them is
        if flop_per_sample is None:
            raise InvalidValue("flop_per_sample", "given where a device is known by its FLOP/J", "nothing")
        return samples * number_in("flop_per_sample", flop_per_sample, _MOST) / self.flop_per_joule


@dataclass(frozen=True, slots=True)
class Radio:
    """What talks: once for a session, then for each bit."""

    session: float  # from waking to being joined, and back to sleep [J]
    joules_per_bit_up: float  # that the client sends [J/bit]
    joules_per_bit_down: float  # that it receives [J/bit]

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            number_in(name, getattr(self, name), _MOST)


@dataclass(frozen=True, slots=True)
class RoundCost:
    """What a turn of one client costs, part by part [J].

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
        """All of it."""
        return self.base + self.computing

    @property
    def base(self) -> float:
        """What it costs to take part, however little is computed."""
        return self.session + self.download + self.upload

    def step(self, local_steps: int) -> float:
        """Return what one of its K local steps costs, so that base + K * step is the total."""
        return self.computing / whole_number("local_steps", local_steps, low=1)

    def parts(self) -> Iterator[tuple[str, float]]:
        """Yield the parts by name, in the order of a turn but for computing, which is last."""
        for field in fields(self):
            yield field.name, getattr(self, field.name)


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
    """Return what a round costs a participant.

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
