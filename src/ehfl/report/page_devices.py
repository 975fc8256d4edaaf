"""Devices on the page: for each arm that ran on some, a few sentences and a line for each device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ehfl.analysis import Arm, Comparison
from ehfl.analysis.devices import Device, DeviceLog
from ehfl.analysis.numbers import amount
from ehfl.analysis.scales import Scale
from ehfl.report.device_words import log_sentences, say_reasons
from ehfl.report.phrases import counted

MOST_LINES = 50  # of a table: beyond, a page is no place to look devices up in


@dataclass(frozen=True, slots=True)
class DeviceLine:
    """What the table says of one device."""

    client: str
    online: str
    took_part: str
    lost: str
    reasons: str  # the most frequent ones; empty where nothing was lost
    level: str
    stale: str  # when the level was last heard of; empty where that was in the last round
    lowest: str


@dataclass(frozen=True, slots=True)
class DevicePart:
    """What the page says of one arm's devices, with its first seed."""

    place: int  # of the arm in the comparison
    name: str
    seed: int | None  # None where the arm has no other
    sentences: tuple[str, ...]
    rounds: str  # how many there were
    unit: str  # of levels
    lines: tuple[DeviceLine, ...]
    lost: bool  # whether any device has a reason
    notes: tuple[str, ...]  # on what the table does not show


def device_parts(comparison: Comparison) -> list[DevicePart]:
    """Return a part for each arm that ran on devices."""
    logs = [(place, arm, arm.trials[0].devices) for place, arm in enumerate(comparison.arms)]
    return [_part(comparison, place, arm, log) for place, arm, log in logs if log is not None]


def _part(comparison: Comparison, place: int, arm: Arm, log: DeviceLog) -> DevicePart:
    shown, rounds = _most_telling(log.devices), len(log.states)
    scale = comparison.energy_scale(max((device.level or 0.0 for device in shown), default=0.0))
    lines = tuple(_line(device, rounds, scale) for device in shown)
    return DevicePart(
        place,
        arm.name,
        arm.seeds[0] if len(arm.seeds) > 1 else None,
        tuple(log_sentences(log, comparison.energy_scale(log.wasted_energy))),
        f"{rounds:,}",
        scale.unit,
        lines,
        any(device.losses for device in shown),
        tuple(_notes(lines, len(log.devices))),
    )


def _notes(lines: Sequence[DeviceLine], devices: int) -> Iterator[str]:
    if any(line.stale for line in lines):
        yield "Small print: when a battery's level was last heard of, where that was before the last round."
    if len(lines) < devices:
        which = "those that lost the most updates or, with as many, were online the least"
        yield f"{len(lines)} of {counted(devices, 'device')} are shown: {which}."


def _most_telling(devices: Sequence[Device]) -> list[Device]:
    """Return all devices or, of very many, those with which most went wrong, in the order of their numbers."""
    worst = sorted(devices, key=lambda device: (-device.losses, device.online))[:MOST_LINES]
    return sorted(worst, key=lambda device: device.client)


def _line(device: Device, rounds: int, scale: Scale) -> DeviceLine:
    gone = device.last_heard is not None and device.last_heard < rounds - 1
    return DeviceLine(
        client=f"{device.client:,}",
        online=f"{device.online:,}",
        took_part=f"{device.took_part:,}",
        lost=f"{device.losses:,}",
        reasons=say_reasons(device.lost, most=2) if len(device.lost) > 1 else "".join(device.lost),
        level=amount(None if device.level is None else scale.of(device.level)),
        stale=f"in round {device.last_heard:,}" if gone else "",
        lowest=amount(None if device.lowest is None else scale.of(device.lowest)),
    )
