"""Worlds: arms that met the same weather, data and first model. The first is what the others are compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ehfl.analysis.pairing import pairs
from ehfl.analysis.timing import noise_limit, times_as_long
from ehfl.analysis.trials import Arm


@dataclass(frozen=True, eq=False, slots=True)
class World:
    """Arms that have runs which met the same as runs of the first one, their baseline."""

    arms: tuple[Arm, ...]
    target: int  # clients wanted a round
    best: str  # the arm that theory calls best, the first of several; slowdowns are relative to it
    noise_limits: Mapping[str, float]  # rounds, or times, to the same bound by arm, relative to the best one's
    name: str = ""  # what its arms' labels begin with where there are several worlds: "Unequal fleet"

    @property
    def baseline(self) -> str:
        """The arm that differences are to."""
        return self.arms[0].name

    def short(self, arm: str) -> str:
        """Return an arm's label without the world's name, for texts that have named the world."""
        return arm.removeprefix(f"{self.name}: ") if self.name else arm


def worlds_of(arms: Sequence[Arm], target: int | None = None) -> tuple[World, ...]:
    """Return the worlds in the order in which their first arms appear.

    An arm is of the first world whose baseline has runs that met the same as its own; else it begins a new one.
    """
    groups: list[list[Arm]] = []
    for arm in arms:
        mine = next((group for group in groups if pairs(arm, group[0])), None)
        if mine is None:
            groups.append([arm])
        else:
            mine.append(arm)
    names = _names(groups)
    return tuple(_world(tuple(group), target, name) for group, name in zip(groups, names, strict=True))


def _world(arms: tuple[Arm, ...], target: int | None, name: str) -> World:
    # Over the seeds that all arms have, if there are any: another seed is other weather, which is no arm's merit.
    common = set(arms[0].seeds).intersection(*(arm.seeds for arm in arms))
    # Squared below: rounds that are twice as long count twice.
    lengths = {arm.name: math.sqrt(times_as_long(arm, arms[0])) for arm in arms}
    limits = {arm.name: noise_limit(arm, common or arm.seeds) * lengths[arm.name] for arm in arms}
    best = min(limits, key=lambda arm: limits[arm])
    # Bounds fall as 1 / sqrt(rounds), so rounds to the same bound go as the square of what the bounds are now.
    slower = {arm: (limit / limits[best]) ** 2 if limit < math.inf else math.inf for arm, limit in limits.items()}
    wanted = arms[0].trials[0].participation.target if target is None else target
    return World(arms, wanted, best, slower, name)


def _names(groups: Sequence[Sequence[Arm]]) -> list[str]:
    """Return what the labels of each world have before a colon, if all of them have it and no other world's has."""
    found = [{arm.name.partition(": ")[0] if ": " in arm.name else "" for arm in group} for group in groups]
    own = [len(mine) == 1 and sum(mine <= other for other in found) == 1 for mine in found]
    return [next(iter(mine)) if only and len(groups) > 1 else "" for mine, only in zip(found, own, strict=True)]
