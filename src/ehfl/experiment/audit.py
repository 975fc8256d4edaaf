"""`audit`: what a plain mean would make of each arm's clients, before anything is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ehfl import user_code
from ehfl.analysis.audit import Audit
from ehfl.arrays import IntArray
from ehfl.experiment.check import check_comparison, check_harvests
from ehfl.experiment.spec import build
from ehfl.experiment.spec.models import Setting
from ehfl.experiment.spec.read import Source, open_spec
from ehfl.validation import renamed, whole_number

if TYPE_CHECKING:
    from pandas import DataFrame


class Audits(tuple[Audit, ...]):
    """The audits of a spec's arms, one an arm in their order, and their figures as tables."""

    def frame(self) -> DataFrame:
        """Return a pandas DataFrame with a row for each arm: chi^2 with its 95 % interval, the floor, labels moved."""
        import pandas as pd

        rows = []
        for one in self:
            chi, floor = one.chi_square, one.floor
            rows.append(
                {
                    "chi_square": chi.mean, "chi_square_low": chi.low, "chi_square_high": chi.high,
                    "floor": None if floor is None else floor.mean, "zeta_square": one.spread,
                    "moved": one.moved if one.deals and one.chances.has_turns else None,
                    "exact": one.chances.exact, "aggregation": one.aggregation,
                }
            )  # fmt: skip
        return pd.DataFrame(rows, index=pd.Index([one.arm for one in self], name="arm"))

    def clients(self) -> DataFrame:
        """Return a pandas DataFrame with a row for each arm and client: P(i in S) and q_i, with standard errors."""
        import pandas as pd

        columns = ("probabilities", "probabilities_error", "weights", "weights_error")
        frames = [pd.DataFrame({name: getattr(one.chances, name) for name in columns}) for one in self]
        return pd.concat(frames, keys=[one.arm for one in self], names=["arm", "client"])

    def __str__(self) -> str:
        return str(self.frame().to_string(float_format="{:.4g}".format))

    def _repr_html_(self) -> str:
        return str(self.frame().to_html(float_format="{:.4g}".format))


_MOST_DEALS = 20  # seeds whose data are dealt out, the first of the spec's


@dataclass(frozen=True, slots=True)
class _Data:
    """What clients hold, for all arms that share it."""

    classes: tuple[str, ...]
    deals: tuple[IntArray, ...]
    spread: float | None


_NO_DATA = _Data((), (), None)


def audit(
    spec: Source = None,
    *,
    seeds: int = 20,
    with_floor: bool = True,
    energy_only: bool = False,
    on_arm: Callable[[str], None] | None = None,
    on_gradients: Callable[[int], None] | None = None,
    **overrides: Any,
) -> Audits:
    """Return for each arm how often its clients take part, and what a plain mean of their updates optimises.

    `seeds` seeds are simulated where chances cannot be computed; labels are dealt for the spec's first twenty seeds.
    The floor takes the gradient of each client at the first model (of the first seed), a pass over all examples.
    `on_arm` is called with each arm's label once it is done, `on_gradients` with the number of examples before their
    gradients are computed. `energy_only` leaves out labels and floor, and needs no torch. A scheduler that chooses by
    losses gets no chances. `spec` and overrides are those of `compare`.
    """
    whole_number("seeds", seeds, low=2)
    ready = open_spec(spec, overrides)
    with user_code.held(ready.code):
        (check_harvests if energy_only else check_comparison)(ready)
        data_of: build.Memo[_Data] = build.Memo(len(ready.arms))
        found = []
        for arm in ready.arms:
            setting, learning = arm.setting, arm.setting.learning
            key = setting.fleet.clients, learning.task, learning.data, learning.partition, learning.order
            with renamed(arm.key_of):
                chances = build.chances_of(setting, seeds)
                deal = partial(_deal_data, setting, ready.seeds, with_floor, on_gradients)
                data = _NO_DATA if energy_only else data_of.get(key, deal)
            aggregation = learning.aggregation["name"]
            found.append(Audit(arm.label, chances, data.classes, data.deals, data.spread, aggregation))
            if on_arm is not None:
                on_arm(arm.label)
    return Audits(found)


def _deal_data(
    setting: Setting, seeds: Sequence[int], with_floor: bool, on_gradients: Callable[[int], None] | None
) -> _Data:
    from ehfl.learning import estimate_spread
    from ehfl.learning.tasks.contract import classes_of, label_counts

    task = build.load_task(setting)[0]
    dealt = [build.parts_of(setting, task, seed) for seed in seeds[:_MOST_DEALS]]
    counts = [label_counts(task, parts) for parts in dealt]
    spread = None
    if with_floor:
        if on_gradients is not None:
            on_gradients(len(task.training))
        device = setting.learning.device
        spread = estimate_spread(task, dealt[0], seed=seeds[0], batches=1, device=device).between
    return _Data(classes_of(task), tuple(one for one in counts if one is not None), spread)
