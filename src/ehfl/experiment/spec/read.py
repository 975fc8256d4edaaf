"""Specs as TOML: read with one-line errors, changed from the command line, written resolved."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import BeforeValidator, PlainValidator, Strict

from ehfl import user_code
from ehfl.experiment.spec import build
from ehfl.experiment.spec.arms import SAME_FOR_ALL, read_arms, swept_lists
from ehfl.experiment.spec.models import Section, Setting, Spec, check_known, validated
from ehfl.experiment.spec.overrides import OPTIONAL, by_keyword, change, parsed_overrides, plain_copy, put
from ehfl.experiment.spec.values import lies_within, listed_seeds, plain_name
from ehfl.runs import SPEC, Facts, holds_runs, inside, read_facts, read_own
from ehfl.validation import InvalidValue, SpecError, UserError, renamed, shown

Source = Spec | str | os.PathLike[str] | Mapping[str, Any] | None  # of a spec: see `open_spec`

# Keys whose change describes another fleet, task or set of arms, which the demo's arms would not fit.
_DECIDED = (
    *("arms", "schedulers", "scheduler", "fleet"),
    *("learning.task", "learning.partition", "learning.order", "learning.aggregation"),
)


class _Heading(Section):
    """The keys of a spec that are not part of an arm's world."""

    name: Annotated[str, PlainValidator(plain_name)] = "demo"
    seeds: Annotated[tuple[int, ...], BeforeValidator(listed_seeds), Strict(strict=False)] = (0, 1, 2, 3, 4)
    code: str | None = None


def read_spec(
    source: str | os.PathLike[str] | Mapping[str, Any] | None = None, overrides: Sequence[str] | Mapping[str, Any] = ()
) -> Spec:
    """Return the spec in a TOML file or a table, changed by overrides like "rounds=20".

    Without one it is the demo; overrides of fleets, data or arms leave out the demo's arms.

    >>> read_spec(overrides=["rounds=20", "fleet.rate=[0.1, 0.9]", "target=1"]).base.fleet.clients
    2
    """
    changes = plain_copy(parsed_overrides(overrides))
    file, facts = _read_source(_demo(changes) if source is None else source)
    with renamed(lambda key: key if file is None else f"{file}: {key}"):
        change(facts, changes)
        return make_spec(facts, folder=None if file is None else file.resolve().parent)


def open_spec(source: Source, overrides: Mapping[str, Any]) -> Spec:
    """Return the spec in a TOML file, a table, a Spec or nothing (the demo), changed by keyword arguments."""
    changes = by_keyword(overrides)
    if isinstance(source, Spec):
        return read_spec(source.facts(), changes) if changes else source
    return read_spec(source, changes)


def demo_text() -> str:
    """Return the text of the demo's spec, demo.toml."""
    return files("ehfl.experiment").joinpath("demo.toml").read_text(encoding="utf-8")


def _demo(changed: Mapping[str, Any]) -> Facts:
    """Return the demo's spec, or an empty one if the user changes what its arms depend on.

    >>> [arm["label"] for arm in _demo({"rounds": 9})["arms"]][0], _demo({"fleet.capacity": 3})
    ('Equal fleet: myopic', {})
    """
    keys = [key.removeprefix("sweep.") for key in (*changed, *swept_lists(changed.get("sweep") or {}))]
    own = any(lies_within(key, one) or lies_within(one, key) for key in keys for one in _DECIDED)
    return {} if own else tomllib.loads(demo_text())


def _read_source(source: Any) -> tuple[Path | None, Facts]:
    if isinstance(source, Mapping):
        return None, plain_copy(source)
    if not isinstance(source, str | os.PathLike):
        raise InvalidValue("spec", "a TOML file, a table or nothing", repr(source))
    file = Path(source)
    try:
        if file.name == SPEC and holds_runs(file.parent):  # written by ehfl beside runs, so it must be unchanged
            facts, _ = read_own(file.parent, "a spec that you change, or your own, needs a file of another name")
        else:
            facts = read_facts(file)
    except UserError as error:
        raise SpecError("spec", f"cannot be read: {error}") from None
    return file, {"name": file.stem} | facts


def make_spec(facts: Facts, folder: Path | None = None) -> Spec:
    """Return the spec that these facts describe, or raise SpecError with the first error in one line.

    Relative paths and user classes are looked up in `folder`.
    """
    if not isinstance(facts, Mapping) or not all(isinstance(key, str) for key in facts):
        raise InvalidValue("spec", "a table whose keys are texts", repr(facts))
    folder = None if folder is None else Path(folder)
    facts = plain_copy(facts)  # the caller's stay as they are
    check_known(facts, "", [*SAME_FOR_ALL, *Setting.model_fields])
    heading = validated(_Heading, {key: facts.pop(key) for key in _Heading.model_fields if key in facts}, folder)
    code = str(((folder or Path.cwd()) / (heading.code or ".")).absolute())
    if not Path(code).is_dir():
        raise SpecError("code", f"must be a folder, got {shown(heading.code)}")
    for memo in (build.FLEETS, build.SIZES):  # files and classes may have changed since the last spec
        memo.clear()
    with user_code.held(code):  # validation constructs the things that the spec names
        return _build_spec(heading, facts, folder, code)


def _build_spec(heading: _Heading, facts: Facts, folder: Path | None, code: str) -> Spec:
    arms, schedulers, sweep = (facts.pop(key, None) for key in ("arms", "schedulers", "sweep"))
    for key in OPTIONAL:
        if inside(facts, key.split(".")) == "none":
            put(facts, key, None)
    base = validated(Setting, facts, folder)
    # A list in the base may set the number of clients; one in an arm must fit it.
    if isinstance(facts.setdefault("fleet", {}), dict):
        facts["fleet"].setdefault("clients", base.fleet.clients)
    made = read_arms(arms, schedulers, sweep, facts, base, folder)
    # A spec without user classes names no folder of code, since it runs from anywhere.
    uses_code = any(setting.user_classes() for setting in (base, *(arm.setting for arm in made)))
    return Spec(heading.name, heading.seeds, base, made, code if uses_code else None)


def write_spec(facts: Facts) -> str:
    """Return a spec's or a run's facts as TOML."""
    return tomli_w.dumps(facts)
