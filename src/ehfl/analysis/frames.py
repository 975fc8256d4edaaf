"""A comparison as pandas DataFrames, and as the rows of rounds.csv."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from ehfl.analysis.rows import Row
from ehfl.analysis.served import final_by_class, known_classes
from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    from pandas import DataFrame

    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.trials import Arm, Trial

Per = Literal["class", "client"]

# Keys that have a column of their own, or none: what a comparison is called, its seeds, where its code lies.
_NAMES = ("scheduler.name", "learning.aggregation.name", "name", "seeds", "arms", "code")
_RECORDED = ("round", "participants", "step_size", "train_loss", "test_loss", "test_metric")
_FIRST = ("first_loss", "first_metric")  # of x_0, in the row of its run's first round
_MEASURED = ("start_loss", "update_square", "update_spread")  # what the noise scale is measured from
_SERVED = ("by_class", "by_client", "first_by_class")  # several values in a cell, where the task has classes


def frame(comparison: Comparison) -> DataFrame:
    """Return the rows as a DataFrame, indexed by arm; what has an interval has columns for its ends too."""
    import pandas as pd

    rows = [what | row_numbers(row) for what, row in zip(_identities(comparison.arms), comparison.rows, strict=True)]
    return pd.DataFrame(rows, index=pd.Index([row.arm for row in comparison.rows], name="arm"))


def rounds_frame(comparison: Comparison, per: Per | None = None) -> DataFrame:
    """Return every round of every run; or the accuracy at each evaluation, `per` class or client, in a row each."""
    import pandas as pd

    if per is not None:
        if per not in ("class", "client"):
            raise InvalidValue("per", "class, client or None", per)
        columns = ["arm", "seed", "round", per, "accuracy"]
        return pd.DataFrame(list(_accuracy_rows(comparison, per)), columns=columns)
    served = [name for name in _SERVED if name in round_columns(comparison)]
    found = pd.DataFrame(list(round_rows(comparison)), columns=round_columns(comparison)).drop(columns=served)
    empty = [column for column in found if found[column].isna().all()]  # pandas calls a column of None no number
    return found.astype(dict.fromkeys(empty, float))


def class_frame(comparison: Comparison) -> DataFrame:
    """Return the accuracy of each class after the last round, mean over seeds: a row a class, a column an arm."""
    import pandas as pd

    classes = known_classes(comparison.arms)
    found = {arm.name: final_by_class(arm) for arm in comparison.arms}
    means = {arm: [math.nan] * len(classes) if x is None else x.mean(axis=0) for arm, x in found.items()}
    return pd.DataFrame(means, index=pd.Index(classes, name="class"))


def round_columns(comparison: Comparison) -> list[str]:
    """Return the names of the columns of rounds.csv."""
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


def _accuracy_rows(comparison: Comparison, per: Per) -> Iterator[tuple[str, int, int, str | int, float]]:
    """Yield an accuracy for each class or client of each evaluated round; clients are numbered from 0."""
    known_classes(comparison.arms)  # refuses a comparison without
    for trial in _trials(comparison):
        for record in trial.records:
            found = record.by_class if per == "class" else record.by_client
            names: Sequence[str | int] = trial.classes if per == "class" else range(len(found or ()))
            for name, share in zip(names, found or (), strict=False):
                yield trial.arm, trial.seed, record.round, name, math.nan if share is None else share


def _identities(arms: Sequence[Arm]) -> list[dict[str, Any]]:
    """Return what each arm is: scheduler, aggregation, and the keys of its spec that are not the same for all."""
    specs = [_flat(arm.trials[0].spec) for arm in arms]
    swept = dict.fromkeys(key for arm in arms for key in arm.point)
    keys = [
        key
        for key in dict.fromkeys(key for spec in specs for key in spec)
        if key not in _NAMES and not key.startswith("point.")
    ]
    differing = [key for key in keys if any(spec.get(key) != specs[0].get(key) for spec in specs)]
    return [
        {
            "scheduler": spec.get("scheduler.name", arm.scheduler),
            "aggregation": arm.trials[0].aggregation,
            **({"line": arm.line} if swept else {}),
            **{key: spec.get(key) for key in differing},
            **{key: arm.point.get(key) for key in swept},
        }
        for arm, spec in zip(arms, specs, strict=True)
    ]


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a table's values by dotted key."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def row_numbers(row: Row) -> dict[str, float | str]:
    """Return the figures of a row by name, in the order of its fields; NaN where there is none."""
    numbers: dict[str, float | str | None] = {}
    for field in fields(Row)[1:]:  # the first, the arm, is the index
        name, found, kind = field.name, getattr(row, field.name), str(field.type)
        if "Estimate" not in kind and "Difference" not in kind:
            numbers[name] = found
            continue
        parts = {name: "mean", f"{name}_low": "low", f"{name}_high": "high"}
        if "Difference" in kind:
            parts |= {f"{name.removesuffix('difference')}{part}": part for part in ("p_value", "holm_p_value")}
        numbers |= {column: None if found is None else getattr(found, part) for column, part in parts.items()}
    return {name: math.nan if x is None else x for name, x in numbers.items()}
