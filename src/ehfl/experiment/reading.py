"""Specs as TOML: read with one-line errors, changed from the command line, written resolved."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import BaseModel, ValidationError

from ehfl.experiment.spec import STORED, ArmSpec, EvaluationSpec, FleetSpec, LearningSpec, Spec, TheorySpec
from ehfl.validation import UserError, closest, short

# What the demo adds to the defaults: the constants of its task, by `ehfl bound --task digits`.
DEMO: dict[str, Any] = {"theory": {"smoothness": 3.51, "variance": 0.058, "gap": 2.30}}
_SECTIONS: dict[str, type[BaseModel]] = {
    "": Spec, "fleet": FleetSpec, "learning": LearningSpec, "evaluation": EvaluationSpec, "theory": TheorySpec,
    "schedulers": ArmSpec,
}  # fmt: skip


class SpecError(UserError):
    """A spec that cannot be run as it is, told in one line whatever keys and values hold."""

    def __init__(self, told: str) -> None:
        super().__init__(" ".join(told.splitlines()))


def read_spec(path: Path | None = None, overrides: Sequence[str] = ()) -> Spec:
    """Return the spec in a TOML file (the demo without one), changed by overrides like "learning.local_steps=1".

    >>> read_spec(overrides=["rounds=20", "fleet.rate=[0.1, 0.9]", "fleet.clients=2", "target=1"]).fleet.rate
    (0.1, 0.9)
    """
    facts = copy.deepcopy(DEMO) if path is None else {"name": path.stem} | _parsed(path)
    problem = _problem(facts)
    for override in overrides:
        _apply(facts, override)
    if _problem(facts) != problem and not any(override.strip().startswith("theory") for override in overrides):
        facts.pop("theory", None)  # the constants were those of another problem
    return make_spec(facts, source="" if path is None else f"{path}: ")


def read_stored(path: Path) -> Spec:
    """Return the spec in a run folder; schedulers and tasks of the user's own that it names are not imported."""
    return make_spec(_parsed(path), source=f"{path}: ", context=STORED)


def _problem(facts: dict[str, Any]) -> tuple[Any, Any]:
    """Return what the constants of theory depend on."""
    learning = facts.get("learning")
    told = learning if isinstance(learning, dict) else {}
    default = LearningSpec.model_fields
    return told.get("task", default["task"].default), told.get("batch_size", default["batch_size"].default)


def make_spec(facts: dict[str, Any], source: str = "", context: str | None = None) -> Spec:
    """Return the spec that these facts describe, or raise SpecError with one line about the first that is wrong."""
    try:
        return Spec.model_validate(facts, context=context)
    except ValidationError as error:
        typos_first = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        raise SpecError(f"{source}{_told(typos_first[0])}") from None
    except OverflowError as error:
        raise SpecError(f"{source}numbers must fit into floating point ({error})") from None


def write_spec(spec: Spec) -> str:
    """Return the spec as TOML, every value spelled out, so that it can be run again from there."""
    return tomli_w.dumps(_without_none(spec.model_dump(mode="python")))


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SpecError(f"spec must be a readable TOML file, got {path} ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path} is not TOML: {error}") from None


def _apply(facts: dict[str, Any], override: str) -> None:
    """Put key=value into the facts; the value is TOML, or a bare word."""
    key, equals, text = override.partition("=")
    *sections, last = parts = key.strip().split(".")
    if not equals or not all(parts):
        raise SpecError(f"override must be KEY=VALUE such as learning.local_steps=1, got {override}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        value = text.strip()
    except RecursionError:
        raise SpecError(f"{key} is nested too deeply") from None
    for section in sections:
        facts = facts.setdefault(section, {})
        if not isinstance(facts, dict):
            raise SpecError(f"override must name a key of a section, got {key}")
    facts[last] = value


def _told(error: Any) -> str:
    """Return what is wrong in one line: the key, what is allowed, what was given."""
    place = error["loc"]
    key = ".".join(f"{part + 1}" if isinstance(part, int) else part for part in place)
    if error["type"] == "extra_forbidden":
        return _unknown(key, str(place[0]) if len(place) > 1 else "")
    if error["type"] == "missing":
        return f"{key} must be given"
    if error["type"] == "model_type":
        return f"{key} must be a table of keys, got {short(repr(error['input']))}"
    allowed = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    if not key:  # a rule about several values names them itself
        return str(allowed)
    return f"{key} {allowed}, got {short(repr(error['input']))}"


def _unknown(key: str, section: str) -> str:
    known = list(_SECTIONS.get(section, Spec).model_fields)
    inside = f" of {section}" if section else ""
    return f"{key} is not a key{inside} ({', '.join(known)}){closest(key.rpartition('.')[2], known)}"


def _without_none(value: Any) -> Any:
    """Return the value in TOML's types, which have no None."""
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_without_none(inner) for inner in value]
    return value
