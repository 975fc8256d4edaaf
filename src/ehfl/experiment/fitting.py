"""Whether the aggregation of an arm fits its fleet, its scheduler and this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ehfl.experiment import building
from ehfl.experiment.execution import loaded_task
from ehfl.experiment.spec import Setting
from ehfl.registry import is_own
from ehfl.scheduling import brings_weights
from ehfl.validation import at

if TYPE_CHECKING:
    from ehfl.learning import Aggregation


def check_aggregation_fits(setting: Setting) -> None:
    """Refuse an aggregation whose parameters, weights or memory do not fit."""
    from ehfl.learning.memory import check_room

    needed = memory_needed(setting)
    with at("learning"):
        check_room(building.plain_aggregation_of(setting), needed, folder=Path())


def memory_needed(setting: Setting) -> int:
    """Return what a setting's aggregation remembers of clients at most [bytes]."""
    from ehfl.learning.first_model import first_model
    from ehfl.learning.memory import remembered_by

    aggregation, clients = _aggregation_that_fits(setting), setting.fleet.clients
    if aggregation is None:
        return 0
    with at("learning.aggregation"), building.users_own("", "one that can be started"):
        # Most remember none, which spares counting the model's weights.
        if not remembered_by(aggregation, clients, n_params=1):
            return 0
        model = first_model(loaded_task(setting)[0], seed=0)
        return remembered_by(aggregation, clients, sum(weights.numel() for weights in model.parameters()))


def _aggregation_that_fits(setting: Setting) -> Aggregation | None:
    """Return the aggregation, refused if it does not fit the scheduler; None where its runs will have to find out.

    A scheduler of the user's own, which decides how likely clients are to take part, might end this process.
    """
    from ehfl.learning.aggregation import wants_weights
    from ehfl.learning.aggregation.scheduled import no_weights

    if is_own(setting.scheduler) and building.wants_chances(setting):
        return None
    aggregation = building.aggregation_of(setting)
    if wants_weights(aggregation) and not brings_weights(building.scheduler_of(setting)):
        with at("learning"):
            raise no_weights(aggregation, setting.scheduler["name"])
    return aggregation
