"""Arms of a comparison: a label and changes to the spec; a list of schedulers is the short form.

A sweep has all arms at each of several points, which are values of keys; each arm at a point is an arm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from ehfl.experiment.spec.models import SECTIONS, Arm, Setting, check_known, placed, validated
from ehfl.experiment.spec.overrides import SHORT, by_key, change, plain_copy
from ehfl.experiment.spec.values import lies_within, plain_label
from ehfl.runs import Facts, point_name
from ehfl.scheduling import SCHEDULERS
from ehfl.validation import SpecError, is_label, renamed, short

PAPER = ("myopic", "round-robin", "greedy", "always-on")  # the arms, where a spec names none
SAME_FOR_ALL = ("name", "seeds", "code", "arms", "schedulers", "sweep")  # keys that no arm can change
_ONCE = ("evaluation.goal", "fleet.unit", "checkpoint_every")  # a table of arms has one of each
_MOST_LETTERS = 24  # of a sweep's value in a label
_KEYS = ["label", *SHORT, *Setting.model_fields]

Listed = tuple[str, str, Facts]  # where an arm stands in the spec, its label (or none), and what it changes


def read_arms(
    arms: Any, schedulers: Any, sweep: Any, facts: Facts, base: Setting, folder: Path | None
) -> tuple[Arm, ...]:
    """Return a spec's arms at each point of its sweep, each with its setting; `base` is the setting of `facts`."""
    if arms is not None and schedulers is not None:
        raise SpecError("schedulers", "must be left out where arms are given: an arm names its scheduler")
    if schedulers is not None and "scheduler" in facts:
        raise SpecError("scheduler", "must be left out where schedulers are given: each is an arm of its own")
    listed = _from_schedulers(schedulers, "scheduler" in facts) if arms is None else _from_arms(arms)
    made = tuple(_arm(key, label, changes, facts, base, folder) for key, label, changes in listed)
    if arms is not None:  # as ehfl writes the arms of a sweep
        made = tuple(replace(arm, point=_point(arms[i].get("point"), arm.place)) for i, arm in enumerate(made))
    if sweep is not None:
        points = points_of(sweep)
        made = tuple(_at_point(arm, point, points, facts, base, folder) for point in points for arm in made)
    _check_labels(made, "schedulers" if arms is None else "arms")
    _check_lengths(made)
    return made


def _from_schedulers(schedulers: Any, one_given: bool) -> list[Listed]:
    """Return key, label and changes of each arm, from a list of schedulers: the short form of arms."""
    if schedulers is None:
        if one_given:  # a comparison of one arm
            return [("scheduler", "", {})]
        schedulers = PAPER
    if not isinstance(schedulers, list | tuple) or not schedulers:
        raise SpecError("schedulers", f"must be a list of schedulers, at least one, got {short(repr(schedulers))}")
    for i, one in enumerate(schedulers, start=1):
        if isinstance(one, dict) and "name" not in one:
            fault = "must have the scheduler's name and its parameters: a label, and what else an arm changes, goes "
            raise SpecError(f"schedulers[{i}]", f"{fault}into [[arms]], got {short(repr(one))}")
    return [(f"schedulers[{i}]", "", {"scheduler": one}) for i, one in enumerate(schedulers, start=1)]


def _from_arms(arms: Any) -> list[Listed]:
    if not isinstance(arms, list | tuple) or not arms or not all(isinstance(arm, dict) for arm in arms):
        given = short(repr(arms))
        raise SpecError("arms", f"must be a list of tables, at least one: a label and what it changes, got {given}")
    found = []
    for i, arm in enumerate(arms, start=1):
        where = f"arms[{i}]"
        label = plain_label(arm["label"], f"{where}.label") if "label" in arm else ""
        changes = _flat({key: value for key, value in arm.items() if key not in ("label", "point")}, where)
        check_known({key.partition(".")[0]: None for key in changes}, where, _KEYS)
        found.append((where, label, changes))
    return found


def _flat(changes: Facts, where: str) -> Facts:
    """Return changes by dotted key; refuse keys that are given twice or the same for all arms."""
    found: Facts = {}
    for key, value in (pair for name, given in changes.items() for pair in by_key(name, given)):
        if key.partition(".")[0] in SAME_FOR_ALL or key in _ONCE:
            raise SpecError(f"{where}.{key}", "must be left out: it is the same for all arms")
        if key in found:  # as short form and as dotted key
            raise SpecError(f"{where}.{key}", "must be given once")
        found[key] = value
    return found


def _at_point(arm: Arm, point: Facts, points: Sequence[Facts], facts: Facts, base: Setting, folder: Path | None) -> Arm:
    """Return an arm at a point of the sweep."""
    changes = _flat(point, "sweep")
    check_known({key.partition(".")[0]: None for key in changes}, "sweep", [*Setting.model_fields])
    if arm.point:
        raise SpecError("sweep", f"must be left out: {arm.place} has a point of a sweep")
    for key in arm.changes:
        if lies_within(key, *point):
            raise SpecError(f"sweep.{key}", f"must be left out: {arm.place} sets it")
    shown = shown_point(point, points)
    label = f"{point_name(shown)}: {arm.label}"
    made = _arm(arm.place, label, {**arm.changes, **changes}, facts, base, folder, tuple(point))
    return replace(made, label=plain_label(label, "sweep", "gives an arm a label that must be"), point=shown)


def _point(given: Any, where: str) -> Facts:
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(value, int | float | str) for value in given.values()):
        raise SpecError(f"{where}.point", f"must be a table of numbers and texts, got {short(repr(given))}")
    return given


def _arm(
    where: str, label: str, changes: Facts, facts: Facts, base: Setting, folder: Path | None, swept: Sequence[str] = ()
) -> Arm:
    """Return an arm with the setting that it runs in; errors name its place, since the base has none."""
    # Unchanged sections are shared with the base, neither validated again nor stored twice.
    shared = SECTIONS.keys() - {key.partition(".")[0] for key in changes}
    mine = plain_copy({key: value for key, value in facts.items() if key not in shared})  # arms change their own copy
    with renamed(partial(placed, where, swept=swept)):
        change(mine, changes)
        mine |= {section: getattr(base, section) for section in shared}
        setting = validated(Setting, mine, folder)
    given = mine.get("scheduler", setting.scheduler)
    text = given if isinstance(given, str) else SCHEDULERS.text(SCHEDULERS.table(given))
    if "learning.aggregation" in changes:
        text += f" + {setting.learning.aggregation['name']}"
    unlabelled = "needs a label of its own ([[arms]] has them), since its text is not"
    return Arm(label or plain_label(text, where, unlabelled), changes, setting, where)


def _check_lengths(arms: Sequence[Arm]) -> None:
    """Refuse arms in joules beside arms in units."""
    given = [arm.setting.fleet.round_length is not None for arm in arms]
    for place, is_given in enumerate(given, start=1):
        if is_given != given[0]:
            fault = f"must be {'given' if given[0] else 'left out'}, as in the first arm"
            why = "joules and units cannot be compared"
            raise SpecError(f"arms[{place}].fleet.round_length", f"{fault}: {why}")


def _check_labels(arms: Sequence[Arm], key: str) -> None:
    # Two labels that make the same folder's name would make two runs the same.
    slugs = [arm.slug for arm in arms]
    for place, slug in enumerate(slugs, start=1):
        if not slug:
            label = arms[place - 1].label
            raise SpecError(f"arms[{place}].label", f"must have a letter or a digit in it, got {label!r}")
        if slugs.count(slug) > 1:
            twins = [arm.label for arm in arms if arm.slug == slug]
            raise SpecError(key, f"must have labels that differ in letters or digits, got {' and '.join(twins)}")


def points_of(sweep: Any) -> list[Facts]:
    """Return the values of each point by key: all combinations, the last key's values first; `zip` pairs them instead.

    >>> points_of({"fleet": {"capacity": [1, 2]}, "target": [3, 4]})[1]
    {'fleet.capacity': 1, 'target': 4}
    >>> points_of({"fleet.capacity": [1, 2], "target": [3, 4], "zip": True})
    [{'fleet.capacity': 1, 'target': 3}, {'fleet.capacity': 2, 'target': 4}]
    """
    if not isinstance(sweep, Mapping):
        raise SpecError("sweep", f"must be a table of keys and lists of values, got {short(repr(sweep))}")
    paired = sweep.get("zip", False)
    if not isinstance(paired, bool):
        raise SpecError("sweep.zip", f"must be true or false, got {short(repr(paired))}")
    lists = swept_lists({key: values for key, values in sweep.items() if key != "zip"})
    if not lists:
        raise SpecError("sweep", "must name at least one key, such as fleet.capacity = [1, 2, 5]")
    for key, values in lists.items():
        if not isinstance(values, list | tuple) or not values:
            raise SpecError(f"sweep.{key}", f"must be a list of values, at least one, got {short(repr(values))}")
    counts = {key: len(values) for key, values in lists.items()}
    if paired and len(set(counts.values())) > 1:
        found = ", ".join(f"{key} {count}" for key, count in counts.items())
        raise SpecError("sweep", f"must have equally many values of each key with zip, got {found}")
    rows = zip(*lists.values(), strict=True) if paired else product(*lists.values())
    return [dict(zip(lists, row, strict=True)) for row in rows]


def swept_lists(sweep: Mapping[str, Any], prefix: str = "") -> Facts:
    """Return a sweep's lists of values by dotted key, from dotted keys and nested tables alike."""
    found: Facts = {}
    for name, values in sweep.items():
        key = SHORT.get(f"{prefix}{name}", f"{prefix}{name}")
        found |= swept_lists(values, f"{key}.") if isinstance(values, Mapping) else {key: values}
    return found


def shown_point(point: Facts, points: Sequence[Facts]) -> Facts:
    """Return a point's values as labels, tables and figures have them: numbers, and short strings for all else."""
    return {key: _shown(value, [one[key] for one in points]) for key, value in point.items()}


def _shown(value: Any, values: Sequence[Any]) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, Mapping) and "name" in value:
        text = SCHEDULERS.text(dict(value))
    else:
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    fits = is_label(text, most=_MOST_LETTERS) and not set(text) & set("$[]\\")
    return text if fits else f"no. {1 + list(values).index(value)}"
