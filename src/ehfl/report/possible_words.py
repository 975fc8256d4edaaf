"""Sentences on how much of what any scheduler could have reached arms did reach."""

from __future__ import annotations

from collections.abc import Iterator

from ehfl.analysis import Comparison
from ehfl.analysis.intervals import write_metric
from ehfl.analysis.possible import BOUND, SHARE
from ehfl.analysis.trials import Arm
from ehfl.analysis.worlds import World
from ehfl.report.phrases import in_world, listed, spoken

_POSSIBLE = "Of the largest mean of sqrt(n_t) that whoever had known all weather could have had"


def possible_sentences(comparison: Comparison) -> Iterator[str]:
    """Say of each world what its arms reached of what was possible, the best first, where that was asked for."""
    for world in comparison.worlds:
        rows = comparison.rows_of(world)
        shares = {row.arm: found for row in rows if (found := row.share_of_possible) is not None}
        if not shares:
            continue
        (first, most), *others = sorted(shares.items(), key=lambda item: -item[1].mean)
        at_least = "at least " if any(row.possible == BOUND for row in rows) else ""
        told = [f"{_name(world, first)} reached {at_least}{write_metric(SHARE, most).text}"]
        told += [f"{_name(world, arm)} {write_metric(SHARE, found).text}" for arm, found in others]
        without = [f"{_name(world, arm.name)} ({_why_none(arm)})" for arm in world.arms if arm.name not in shares]
        none = f"; there is no share of {listed(without)}" if without else ""
        yield in_world(world, f"{_POSSIBLE}, {listed(told)}{none}.")


def _name(world: World, arm: str) -> str:
    return spoken(world.short(arm))


def _why_none(arm: Arm) -> str:
    if arm.mains_powered:
        return "on mains power"
    return "on devices" if arm.trials[0].devices is not None else "with turns of fewer steps"
