"""`audit`: what a plain mean would make of each arm's clients, before anything is trained."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from ehfl import own_code
from ehfl.analysis.audit import Audit
from ehfl.arrays import IntArray
from ehfl.experiment import building
from ehfl.experiment.checking import check_comparison
from ehfl.experiment.execution import loaded_task
from ehfl.experiment.reading import read_spec
from ehfl.experiment.spec import Arm, Setting, Spec
from ehfl.validation import check_function, of_kind, renamed, whole_number

_MOST_DEALS = 20  # seeds whose data are dealt out, the first of the spec's


@dataclass(frozen=True, slots=True)
class _Data:
    """What clients hold, for all arms that share it."""

    classes: tuple[str, ...]
    deals: tuple[IntArray, ...]
    spread: float | None


def audit(
    spec: Spec | str | PathLike[str] | Mapping[str, Any] | None = None,
    *,
    seeds: int = 20,
    with_floor: bool = True,
    on_arm: Callable[[str], None] | None = None,
    on_gradients: Callable[[int], None] | None = None,
) -> tuple[Audit, ...]:
    """Return for each arm of a spec how often its clients are heard, and what a plain mean of them optimises.

    `seeds` are simulated where chances cannot be computed; labels are those of the spec's own seeds, the first twenty.
    The floor takes the gradient of each client at the first model (of the first seed), a pass over all examples.
    `on_arm` is called with each arm's label once it is done, `on_gradients` with the number of examples before their
    gradients are computed. A scheduler that chooses by losses is played without any.
    """
    check_function("on_arm", on_arm)
    check_function("on_gradients", on_gradients)
    whole_number("seeds", seeds, low=2)
    of_kind("with_floor", with_floor, bool)
    ready = spec if isinstance(spec, Spec) else read_spec(spec)
    with own_code.held(ready.code):
        check_comparison(ready)
        auditor = _Auditor(ready.seeds, seeds, with_floor, on_gradients)
        found = []
        for arm in ready.arms:
            with renamed(arm.key_of):
                found.append(auditor.audited(arm))
            if on_arm is not None:
                on_arm(arm.label)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Auditor:
    """Looks at each deal of the data once."""

    run_seeds: tuple[int, ...]
    seeds: int  # to be simulated
    with_floor: bool
    on_gradients: Callable[[int], None] | None
    known: dict[str, _Data] = field(default_factory=dict)  # by what decides them

    def audited(self, arm: Arm) -> Audit:
        setting, learning = arm.setting, arm.setting.learning
        decided_by = setting.fleet.clients, learning.task, learning.data, learning.partition, learning.order
        key = json.dumps(decided_by, sort_keys=True, default=str)
        heard = building.chances_of(setting, self.seeds)
        held = self.known[key] = self.known.get(key) or self._dealt(setting)
        return Audit(arm.label, heard, held.classes, held.deals, held.spread, learning.aggregation["name"])

    def _dealt(self, setting: Setting) -> _Data:
        from ehfl.learning import estimate_spread
        from ehfl.learning.tasks import classes_of, label_counts

        task = loaded_task(setting)[0]
        dealt = [building.parts_of(setting, task, seed) for seed in self.run_seeds[:_MOST_DEALS]]
        counts = [label_counts(task, parts) for parts in dealt]
        spread = None
        if self.with_floor:
            if self.on_gradients is not None:
                self.on_gradients(len(task.training))
            device = setting.learning.device
            spread = estimate_spread(task, dealt[0], seed=self.run_seeds[0], batches=1, device=device).between
        return _Data(classes_of(task), tuple(one for one in counts if one is not None), spread)
