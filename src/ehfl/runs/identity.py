"""The identity of a run: the part of its spec that decides its numbers, and the comparison of two identities."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ehfl.validation import UserError, short

Facts = dict[str, Any]  # in the types of TOML and JSON

# Keys of a spec that do not decide its numbers: names, places, what is counted afterwards, and how long a server waits
# for devices, which may change when a run is resumed.
_NOT_DECIDING = ("name", "arms", "code", "learning.data", "evaluation.goal", "flower", "point", "checkpoint_every")

# Keys under which a spec names a thing with parameters.
NAMED_THINGS = ("scheduler", "fleet.harvest", "learning.task", "learning.partition", "learning.step_size",
                "learning.aggregation")  # fmt: skip


class OtherRun(UserError):
    """A folder or checkpoint that belongs to another run."""


def identity_of(facts: Facts) -> Facts:
    """Return what decides a run's numbers: its spec, less names and places.

    The content of files that a spec names (data, recorded harvests, code) has fingerprints in meta.json instead.

    >>> identity_of({"name": "x", "rounds": 3, "evaluation": {"every": 5, "goal": 0.9}})
    {'rounds': 3, 'evaluation': {'every': 5}}
    """
    kept: Facts = json.loads(json.dumps(facts, default=str))  # JSON has no dates, which TOML has
    for key in _NOT_DECIDING:
        *sections, last = key.split(".")
        section = kept
        for name in sections:
            section = section.get(name, {})
        if isinstance(section, dict):
            section.pop(last, None)
    for key in files_named_in(kept):
        *sections, last = key.split(".")
        holder = inside(kept, sections)
        holder[int(last) if isinstance(holder, list) else last] = "a file"
    return kept


def files_named_in(facts: Facts) -> dict[str, Path]:
    """Return the files that a spec's scheduler, harvest, task, ... are made from, by dotted key.

    Paths in these tables are absolute, which distinguishes them from other strings; paths in a list have their index in
    the key.
    """
    found: dict[str, Path] = {}
    for key in NAMED_THINGS:
        table = inside(facts, key.split("."))
        for name, value in table.items() if isinstance(table, dict) else ():
            found |= {f"{key}.{name}{number}": path for number, path in _paths(value)}
    return found


def _paths(value: Any) -> Iterator[tuple[str, Path]]:
    """Yield a value that is a path, or the paths in a list with their indices."""
    if isinstance(value, str) and Path(value).is_absolute():
        yield "", Path(value)
    elif isinstance(value, list | tuple) and value and isinstance(value[0], str):
        texts = [(number, one) for number, one in enumerate(value) if isinstance(one, str)]
        yield from ((f".{number}", Path(one)) for number, one in texts if Path(one).is_absolute())


def inside(facts: Any, parts: Sequence[str]) -> Any:
    """Return the value under nested keys, None where there is none."""
    for part in parts:
        facts = facts.get(part) if isinstance(facts, dict) else None
    return facts


def check_same(there: Mapping[str, Any], here: Mapping[str, Any], place: Path, remedy: str) -> None:
    """Raise OtherRun if two identities differ; the error has the first keys that differ, with both values."""
    found = [
        f"{key} is {_shown(one)} there and {_shown(other)} here" for key, one, other in _differences(there, dict(here))
    ]
    if found:
        more = ", ..." if len(found) > 3 else ""
        raise OtherRun(f"{place} belongs to another run ({', '.join(found[:3])}{more}): {remedy}")


def _differences(one: Any, other: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the keys whose values differ, with both values, down to the leaves of nested tables."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in {**one, **other}:
            yield from _differences(one.get(name), other.get(name), f"{key}.{name}".lstrip("."))
    elif one != other:
        yield key, one, other


def _shown(value: Any) -> str:
    return "not set" if value is None else short(str(value))


def folder_name(label: str, seed: int) -> str:
    """Return the name of a run's folder in its comparison's folder.

    >>> folder_name("Greedy, slow", 3)
    'greedy-slow-s3'
    """
    return f"{slug(label)}-s{seed}"


def slug(label: str) -> str:
    """Return a label as part of a folder's name."""
    return re.sub(r"(?:[^\w.]|_)+", "-", label.lower()).strip("-.")


def point_name(point: Mapping[str, Any]) -> str:
    """Return what the labels of a point's arms begin with.

    >>> point_name({"fleet.capacity": 5, "learning.task": "digits"})
    'capacity 5, task digits'
    """
    lasts = [key.rpartition(".")[2] for key in point]
    names = {key: key if lasts.count(last) > 1 else last for key, last in zip(point, lasts, strict=True)}
    return ", ".join(f"{names[key]} {value}" for key, value in point.items())
