"""Sentences on energy that no round got: what charging, leaks and standing by took."""

from __future__ import annotations

from collections.abc import Iterator

from ehfl.analysis import Comparison
from ehfl.analysis.numbers import percent
from ehfl.analysis.worlds import World
from ehfl.report.phrases import in_short, in_world, listed

_MUCH = 0.1  # share of all energy from which on it is worth a sentence


def loss_sentences(comparison: Comparison) -> Iterator[str]:
    """Say of each world how much energy was lost, arm by arm, where one on batteries lost a tenth or more."""
    for world in comparison.worlds:
        if lost := _lost(comparison, world):
            yield in_world(world, f"Charging, leaks and standing by took {lost}.")


def _lost(comparison: Comparison, world: World) -> str:
    on_batteries = [arm.name for arm in world.arms if not arm.mains_powered]
    rows = sorted((row for row in comparison.rows_of(world) if row.arm in on_batteries), key=lambda row: -row.lost)
    if not rows or rows[0].lost < _MUCH:
        return ""
    (share, most), *others = {
        percent(row.lost): [other for other in rows if percent(other.lost) == percent(row.lost)] for row in rows
    }.items()
    told = [f"{share} of all energy under {in_short(world, *most)}"]
    return listed([*told, *(f"{share} under {in_short(world, *alike)}" for share, alike in others)])
