"""A comparison's page, with a part for each arm that ran on devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from ehfl.analysis import Arm, Comparison
from ehfl.analysis.devices import Device, DeviceLog
from ehfl.report.figures.looks import looks_of
from ehfl.report.pages.build import write_html
from ehfl.report.pages.chart import Chart
from ehfl.report.tables.compact import compact_table, fleet_and_schedulers, setting
from ehfl.report.tables.comparison import quantities
from ehfl.report.tables.output import Column, table_of, unbroken
from ehfl.report.tables.render import Table
from ehfl.report.verdict import device_line, say_reasons, verdict_of
from ehfl.report.write import amount, counted

if TYPE_CHECKING:  # the page shows figures, and needs no matplotlib for it
    from ehfl.report.figures.style import Drawing

MOST_DEVICES = 50  # in a table: beyond, a page is no place to look devices up in


def write_page(
    comparison: Comparison,
    drawings: Sequence[Drawing],
    path: Path,
    *,
    spec: str,
    facts: Mapping[str, str],
    commands: Sequence[str],
) -> None:
    """Write the page, complete or not at all."""
    one_seed = all(len(arm.seeds) == 1 for arm in comparison.arms)
    intervals = "Small print gives 95 % intervals over seeds; none where every seed gave the same."
    write_html(
        path,
        quantities(comparison),
        comparison.rows,
        looks_of(comparison),
        drawings,
        title=comparison.name,
        setting=[unbroken(f"{setting(comparison)}; {fleet_and_schedulers(comparison)}")],
        verdict=[unbroken(sentence) for sentence in verdict_of(comparison)],
        chart=Chart.of(comparison),
        compact=Markup(compact_table(comparison).html()),
        devices=device_parts(comparison),
        note="One seed: no interval can be given." if one_seed else intervals,
        spec=spec,
        facts={"seeds": _seeds(comparison), **facts},
        commands=commands,
    )


def _seeds(comparison: Comparison) -> str:
    """Return the seeds, by arm where they differ."""
    by_arm = {arm.name: ", ".join(map(str, arm.seeds)) for arm in comparison.arms}
    if len(set(by_arm.values())) == 1:
        return next(iter(by_arm.values()))
    return "; ".join(f"{name}: {seeds}" for name, seeds in by_arm.items())


@dataclass(frozen=True, slots=True)
class DevicePart:
    """What the page says of one arm's devices, with its first seed."""

    place: int  # of the arm in the comparison
    name: str
    line: str
    table: Table


def device_parts(comparison: Comparison) -> list[DevicePart]:
    """Return a part for each arm that ran on devices."""
    logs = [(place, arm, arm.trials[0].devices) for place, arm in enumerate(comparison.arms)]
    return [_part(comparison, place, arm, log) for place, arm, log in logs if log is not None]


def _part(comparison: Comparison, place: int, arm: Arm, log: DeviceLog) -> DevicePart:
    # Of very many devices those with which most went wrong, in the order of their numbers.
    worst = sorted(log.devices, key=lambda device: (-device.losses, device.online))[:MOST_DEVICES]
    shown = sorted(worst, key=lambda device: device.client)
    left_out = f"{len(shown)} of {counted(len(log.devices), 'device')}: those that lost the most updates, then those "
    note = "" if len(shown) == len(log.devices) else f"{left_out}that were online the least"
    table = table_of(list(_columns(comparison, shown, len(log.states))), [_label(one) for one in shown], note)
    name = f"{arm.name}, seed {arm.seeds[0]}" if len(arm.seeds) > 1 else arm.name
    return DevicePart(place, name, device_line(log, comparison.energy_scale(log.wasted_energy)), table)


def _columns(comparison: Comparison, devices: Sequence[Device], rounds: int) -> Iterator[Column]:
    scale = comparison.energy_scale(max((device.level or 0.0 for device in devices), default=0.0))

    def level(x: float | None) -> str:
        return amount(None if x is None else scale.of(x))

    def last(device: Device) -> str:
        gone = device.last_heard is not None and device.last_heard < rounds - 1
        return f"{level(device.level)}{f' (round {device.last_heard:,})' if gone else ''}"

    cells: dict[str, Callable[[Device], str]] = {
        f"rounds online\nof {rounds:,}": lambda device: f"{device.online:,}",
        "took\npart": lambda device: f"{device.took_part:,}",
        f"battery, last\nheard of [{scale.unit}]": last,
        f"lowest\n[{scale.unit}]": lambda device: level(device.lowest),
        "work\nlost": lambda device: f"{device.losses:,}",
    }
    if any(device.losses for device in devices):
        cells["why"] = _reasons
    for head, cell in cells.items():
        yield head, {_label(device): cell(device) for device in devices}


def _label(device: Device) -> str:
    return f"client {device.client:,}"


def _reasons(device: Device) -> str:
    return say_reasons(device.lost, most=2) if len(device.lost) > 1 else "".join(device.lost)
