"""What a user should know before runs start."""

from __future__ import annotations

from collections.abc import Iterator

from ehfl.experiment import building
from ehfl.experiment.fitting import memory_needed
from ehfl.experiment.spec import Setting, Spec
from ehfl.machine import bytes_text
from ehfl.registry import is_own


def notes_on(spec: Spec) -> Iterator[str]:
    """Yield a line for each thing that is worth knowing."""
    yield from _on_memory([arm.setting for arm in spec.arms])
    yield from _on_chances(spec)


def _on_memory(settings: list[Setting]) -> Iterator[str]:
    """Yield how much aggregations remember, those that need as much in one line."""
    from ehfl.learning.memory import is_filed, most_on_disk

    names: dict[tuple[int, int], dict[str, None]] = {}  # each once, in their order
    for setting in settings:
        if needed := memory_needed(setting):
            names.setdefault((setting.fleet.clients, needed), {})[setting.learning.aggregation["name"]] = None
    for (clients, needed), alike in names.items():
        file = f"in a file of its folder that grows to {bytes_text(most_on_disk(needed))} at most while it runs"
        where = file if is_filed(needed) else "in memory"
        verb = "remembers" if len(alike) == 1 else "remember"
        what = f"{', '.join(alike)} {verb} a model of each of {clients:,} clients"
        yield f"{what}: up to {bytes_text(needed)} a run, {where}"


def _on_chances(spec: Spec) -> Iterator[str]:
    """Yield how well it is known how likely clients are to take part, for arms whose aggregation goes by it."""
    for arm in spec.arms:
        if not building.wants_chances(arm.setting) or is_own(arm.setting.scheduler):  # whose runs find out themselves
            continue
        found = building.chances_of(arm.setting)
        error = f"{100 * found.relative_error:.1f} %"
        how = "exact" if found.exact else f"estimated from {found.seeds:,} seeds (error up to {error})"
        yield f"{arm.label}: chances of taking part are {how}"
