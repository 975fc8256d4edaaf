"""Specs as TOML: read with one-line errors, changed from the command line, written resolved."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import BeforeValidator, PlainValidator, Strict

from ehfl import own_code
from ehfl.experiment.arms import SAME_FOR_ALL, read_arms
from ehfl.experiment.changing import OPTIONAL, change, parsed_overrides, plain_copy, put
from ehfl.experiment.costing import forget_sizes
from ehfl.experiment.demo import demo
from ehfl.experiment.spec import Section, Setting, Spec
from ehfl.experiment.validating import check_known, validated
from ehfl.experiment.values import folder_name, listed_seeds
from ehfl.run_folder import SPEC, Facts, holds_runs, inside, read_facts, read_own
from ehfl.validation import InvalidValue, SpecError, UserError, path_of, renamed, shown


class _Heading(Section):
    """The keys of a spec that are not part of an arm's world."""

    name: Annotated[str, PlainValidator(folder_name)] = "demo"
    seeds: Annotated[tuple[int, ...], BeforeValidator(listed_seeds), Strict(strict=False)] = (0, 1, 2, 3, 4)
    code: str | None = None


def read_spec(
    source: str | os.PathLike[str] | Mapping[str, Any] | None = None, overrides: Sequence[str] | Mapping[str, Any] = ()
) -> Spec:
    """Return the spec in a TOML file or a table, changed by overrides like "rounds=20".

    Without one it is the demo, unless overrides say something of fleets, data or arms: then the demo's are left out.

    >>> read_spec(overrides=["rounds=20", "fleet.rate=[0.1, 0.9]", "target=1"]).base.fleet.clients
    2
    """
    changes = plain_copy(parsed_overrides(overrides))
    file, facts = _read_source(demo(changes) if source is None else source)
    with renamed(lambda key: key if file is None else f"{file}: {key}"):
        change(facts, changes)
        return make_spec(facts, folder=None if file is None else file.resolve().parent)


def _read_source(source: Any) -> tuple[Path | None, Facts]:
    if isinstance(source, Mapping):
        return None, plain_copy(source)
    if not isinstance(source, str | os.PathLike):
        raise InvalidValue("spec", "a TOML file, a table or nothing", repr(source))
    file = path_of("spec", source)
    return file, {"name": file.stem} | _read_file(file)


def make_spec(facts: Facts, folder: Path | None = None) -> Spec:
    """Return the spec that these facts describe, or raise SpecError with one line about the first that is wrong.

    Relative paths, and classes of the user's own, are looked for in `folder`.
    """
    if not isinstance(facts, Mapping) or not all(isinstance(key, str) for key in facts):
        raise InvalidValue("spec", "a table whose keys are texts", repr(facts))
    folder = None if folder is None else path_of("folder", folder)
    facts = plain_copy(facts)  # the caller's stay as they are
    check_known(facts, "", [*SAME_FOR_ALL, *Setting.model_fields])
    heading = validated(_Heading, {key: facts.pop(key) for key in _Heading.model_fields if key in facts}, folder)
    code = str(((folder or Path.cwd()) / (heading.code or ".")).absolute())
    if not _is_folder(Path(code)):
        raise SpecError("code", f"must be a folder, got {shown(heading.code)}")
    forget_sizes()
    with own_code.held(code):  # validating makes the things that the spec names
        return _made(heading, facts, folder, code)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that no file system holds
        return False


def _made(heading: _Heading, facts: Facts, folder: Path | None, code: str) -> Spec:
    arms, schedulers = facts.pop("arms", None), facts.pop("schedulers", None)
    for key in OPTIONAL:
        if inside(facts, key.split(".")) == "none":
            put(facts, key, None)
    base = validated(Setting, facts, folder)
    # A list that an arm changes must fit the clients that there are; in the base it may say how many.
    if isinstance(facts.setdefault("fleet", {}), dict):
        facts["fleet"].setdefault("clients", base.fleet.clients)
    made = read_arms(arms, schedulers, facts, folder)
    # A spec without classes of the user's own runs from anywhere, and says so by naming no folder.
    uses_code = any(setting.own_classes() for setting in (base, *(arm.setting for arm in made)))
    return Spec(heading.name, heading.seeds, base, made, code if uses_code else None)


def write_spec(facts: Facts) -> str:
    """Return a spec's or a run's facts as TOML."""
    return tomli_w.dumps(facts)


def _read_file(path: Path) -> Facts:
    """Return what a spec's file says; one that ehfl wrote beside runs must be as it was written."""
    try:
        if path.name == SPEC and holds_runs(path.parent):
            return read_own(path.parent, "a spec that you change, or your own, needs a file of another name")[0]
        return read_facts(path)
    except UserError as error:
        raise SpecError("spec", f"cannot be read: {error}") from None
