"""A comparison in a notebook: as an HTML table, as plain text, and as a pandas DataFrame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any

from ehfl.analysis.compact import compact
from ehfl.analysis.round_table import round_columns, round_rows
from ehfl.validation import UserError

if TYPE_CHECKING:
    from pandas import DataFrame

    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.rows import Row
    from ehfl.analysis.trials import Arm

_ESTIMATED = (
    *("final", "difference", "area", "rounds_to_goal", "energy_to_goal", "measured_slowdown", "chi_square"),
    *("worst_class", "worst_class_difference", "worst_tenth", "client_spread", "time_to_goal"),
    *("share_of_possible", "share_of_lowest"),
)


# Keys that have a column of their own, or none: what a comparison is called, its seeds, where its code lies.
_NAMES = ("scheduler.name", "learning.aggregation.name", "name", "seeds", "arms", "code")


def html_table(comparison: Comparison) -> str:
    """Return the compact table as HTML, and each run that is missing with its cause."""
    below = "".join(f"<br>{escape(text)}" for text in _left_out(comparison))
    table = compact(comparison)
    return f"<p>{escape(table.title)}{below}</p>\n{table.html()}"


def text_table(comparison: Comparison) -> str:
    """Return the compact table as plain text, and each run that is missing with its cause."""
    table = compact(comparison)
    return "\n".join([table.title, "", table.text(), *_left_out(comparison)])


def _left_out(comparison: Comparison) -> list[str]:
    return [f"left out: {one}" for one in comparison.missing]


def class_frame(comparison: Comparison) -> DataFrame:
    """Return the accuracy of each class after the last round, mean over seeds: a row a class, a column an arm."""
    from ehfl.analysis.served import final_by_class, known_classes

    classes = known_classes(comparison.arms)
    found = {arm.name: final_by_class(arm) for arm in comparison.arms}
    means = {arm: [math.nan] * len(classes) if x is None else x.mean(axis=0) for arm, x in found.items()}
    return _pandas().DataFrame(means, index=_pandas().Index(classes, name="class"))


def frame(comparison: Comparison) -> DataFrame:
    """Return the rows as a DataFrame, indexed by arm; what has an interval has columns for its ends too."""
    pd = _pandas()
    rows = [what | _numbers(row) for what, row in zip(_identities(comparison.arms), comparison.rows, strict=True)]
    return pd.DataFrame(rows, index=pd.Index([row.arm for row in comparison.rows], name="arm"))


def rounds_frame(comparison: Comparison) -> DataFrame:
    """Return every round of every run as a DataFrame."""
    pd = _pandas()
    found = pd.DataFrame(list(round_rows(comparison)), columns=round_columns(comparison))
    empty = [column for column in found if found[column].isna().all()]  # pandas calls a column of None no number
    return found.astype(dict.fromkeys(empty, float))


def _identities(arms: Sequence[Arm]) -> list[dict[str, Any]]:
    """Return what each arm is: scheduler, aggregation, and the keys of its spec that are not the same for all."""
    specs = [_flat(arm.trials[0].spec) for arm in arms]
    keys = [key for key in dict.fromkeys(key for spec in specs for key in spec) if key not in _NAMES]
    differing = [key for key in keys if any(spec.get(key) != specs[0].get(key) for spec in specs)]
    return [
        {
            "scheduler": spec.get("scheduler.name", arm.scheduler),
            "aggregation": arm.trials[0].aggregation,
            **{key: spec.get(key) for key in differing},
        }
        for arm, spec in zip(arms, specs, strict=True)
    ]


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a table's values by dotted key."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise UserError("frame() needs pandas: pip install pandas") from None
    return pd


def _numbers(row: Row) -> dict[str, float | str]:
    """Return the figures of a row by name, in the order of its fields; NaN where there is none."""
    numbers: dict[str, float | str | None] = {}
    for name in (field.name for field in fields(row) if field.name != "arm"):
        found = getattr(row, name)
        if name not in _ESTIMATED:
            numbers[name] = found
            continue
        parts = {name: "mean", f"{name}_low": "low", f"{name}_high": "high"}
        if name.endswith("difference"):
            parts |= {f"{name.removesuffix('difference')}{part}": part for part in ("p_value", "holm_p_value")}
        numbers |= {column: None if found is None else getattr(found, part) for column, part in parts.items()}
    return {name: math.nan if x is None else x for name, x in numbers.items()}
