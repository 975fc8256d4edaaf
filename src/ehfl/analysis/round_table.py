"""Every round of every run as one long table: rounds.csv and `Comparison.rounds()` are renderings of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.trials import Trial

_RECORDED = ("round", "participants", "step_size", "train_loss", "test_loss", "test_metric")
_FIRST = ("first_loss", "first_metric")  # of x_0, in the row of its run's first round
_MEASURED = ("start_loss", "update_square", "update_spread")  # what the noise scale is measured from
_SERVED = ("by_class", "by_client", "first_by_class")  # several values in a cell, where the task has classes


def round_columns(comparison: Comparison) -> list[str]:
    """Return the names of the columns."""
    seconds = ["seconds"] if comparison.clock.lengths else []
    return ["arm", "seed", *_RECORDED, "energy_spent", *seconds, *_last(comparison)]


def round_rows(comparison: Comparison) -> Iterator[list[object]]:
    """Yield a row for each round of each run, None where there is no value.

    Energy is what the run has spent so far, in the comparison's unit; `seconds` is when the round ended, where rounds
    have a length.
    """
    last, lengths = _last(comparison), comparison.clock.lengths
    for trial in _trials(comparison):
        for record, spent in zip(trial.records, trial.spent[1:].tolist(), strict=True):
            ended = [lengths[trial.arm] * (record.round + 1)] if lengths else []
            recorded, rest = ([getattr(record, name) for name in names] for names in (_RECORDED, last))
            yield [trial.arm, trial.seed, *recorded, spent, *ended, *rest]


def _last(comparison: Comparison) -> tuple[str, ...]:
    has_classes = any(trial.classes for trial in _trials(comparison))
    return (*_FIRST, *_MEASURED, *(_SERVED if has_classes else ()))


def _trials(comparison: Comparison) -> list[Trial]:
    return [trial for arm in comparison.arms for trial in arm.trials]
