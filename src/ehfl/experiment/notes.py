"""What a user should know before runs start."""

from __future__ import annotations

from collections.abc import Iterator

from ehfl.experiment.checking import memory_needed
from ehfl.experiment.spec import Setting, Spec
from ehfl.machine import bytes_text


def notes_on(spec: Spec) -> Iterator[str]:
    """Yield a line for each thing that is worth knowing."""
    yield from _on_memory([arm.setting for arm in spec.arms])


def _on_memory(settings: list[Setting]) -> Iterator[str]:
    """Yield how much aggregations remember, those that need as much in one line."""
    from ehfl.learning.memory import is_filed

    names: dict[tuple[int, int], list[str]] = {}
    for setting in settings:
        if needed := memory_needed(setting):
            alike = names.setdefault((setting.fleet.clients, needed), [])
            alike += [setting.learning.aggregation["name"]] * (setting.learning.aggregation["name"] not in alike)
    for (clients, needed), alike in names.items():
        where = "in a file of its folder while it runs" if is_filed(needed) else "in memory"
        verb = "remembers" if len(alike) == 1 else "remember"
        what = f"{', '.join(alike)} {verb} a model of each of {clients:,} clients"
        yield f"{what}: up to {bytes_text(needed)} a run, {where}"
