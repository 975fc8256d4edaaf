"""A Flower App project of an experiment: what `flwr run` takes, on this machine or on a SuperLink of the user's own."""

from __future__ import annotations

import io
import re
import tomllib
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

import ehfl
from ehfl import own_code
from ehfl.experiment import Arm, Spec, write_spec
from ehfl.files import check_seal, digest_of_file, digest_of_text, sealed, written_whole
from ehfl.flower.app_texts import CLIENT, INIT, PACKAGE, SERVER, readme
from ehfl.flower.bundle import FILE
from ehfl.flower.specs import bundle_of, one_run
from ehfl.own_code.made_of import is_own, made_of
from ehfl.run_folder import files_named_in
from ehfl.validation import InvalidValue, UserError, one_line

PROJECT = "pyproject.toml"
_LONGEST_NAME = 32  # of a Flower App: letters, digits and dashes, a letter first


def write_app(folder: Path, spec: Spec, runs: Path, *, arm: str | None = None, seed: int | None = None) -> None:
    """Write the project of an app that plays one arm under one seed, the first ones unless others are given.

    `runs` is where the server keeps its runs. Code of the user's own that the spec names comes along. A folder that has
    anything in it must be one that was written here and not changed since.
    """
    (run,) = one_run(spec, arm, seed).runs()
    modules = _modules(spec)
    files = _own_files(modules) | {name: text.encode() for name, text in _texts(spec, run.arm, modules).items()}
    config = {"runs": str(runs.absolute()), "arm": run.arm.label, "seed": run.seed}
    project = _project(spec, config, files, licensed=not modules)
    whole = {PROJECT: project.encode()} | files  # first: a folder that has it is known as ours, whatever it lacks
    _check_complete(whole, modules)
    _write(folder, whole)


def _texts(spec: Spec, arm: Arm, modules: Mapping[str, Path]) -> dict[str, str]:
    """Return the files that are written anew, by name."""
    # Beside the spec is where code of the user's own is looked for if a spec names no folder, on every machine.
    facts = {key: value for key, value in spec.facts().items() if key != "code"}
    installed = [_module(name) for name, file in modules.items() if not is_own(file)]
    clients, labels = arm.setting.fleet.clients, [one.label for one in spec.arms]
    told = readme(spec.name, labels, arm.label, spec.seeds, clients, _files_named(spec), installed)
    package = {"__init__": INIT, "server_app": SERVER, "client_app": CLIENT}
    written = {f"{PACKAGE}/{name}.py": text for name, text in package.items()}
    return {"README.md": told, "spec.toml": write_spec(facts), FILE: bundle_of(spec).text()} | written


def _own_files(modules: Mapping[str, Path]) -> dict[str, bytes]:
    """Return the user's own files, which lie in the app as they do in the user's tree."""
    files = {name: file.read_bytes() for name, file in modules.items() if is_own(file)}
    clashes = [name for name in files if name.partition("/")[0] in (PACKAGE, f"{PACKAGE}.py")]
    if clashes:
        raise UserError(f"{modules[clashes[0]]} has the name of the app's own package: give it another one")
    return files


def _modules(spec: Spec) -> dict[str, Path]:
    """Return the files that the user's own classes are made of, by where they lie in the user's tree."""
    settings = (spec.base, *(arm.setting for arm in spec.arms))
    with own_code.held(spec.code):
        return made_of({name.split(":")[0]: None for setting in settings for name in setting.own_classes()})


def _module(file: str) -> str:
    """Return the name of the module in a file.

    >>> _module("mine.py"), _module("mine/__init__.py"), _module("mine/deep.py")
    ('mine', 'mine', 'mine.deep')
    """
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _files_named(spec: Spec) -> list[Path]:
    """Return the files and folders that the spec names by path: they are too large, or of a kind, for an app."""
    settings = [one.setting.facts() for one in spec.arms]
    data = [Path(facts["learning"]["data"]) for facts in settings if "data" in facts["learning"]]
    return list(dict.fromkeys([*data, *(file for facts in settings for file in files_named_in(facts).values())]))


def _project(spec: Spec, config: Mapping[str, Any], files: Mapping[str, bytes], *, licensed: bool) -> str:
    """Return pyproject.toml, with a last line by which it is known again."""
    name = f"ehfl-{re.sub('[^A-Za-z0-9]+', '-', spec.name)}"[:_LONGEST_NAME].strip("-")
    project = {
        "name": name,
        "version": "1.0.0",
        "description": f"{spec.name} on Flower, written by ehfl {ehfl.__version__}",
        **({"license": "Apache-2.0"} if licensed else {}),  # what the user wrote is the user's to license
        "dependencies": [f"ehfl[flower]>={ehfl.__version__}"],
    }
    components = {"serverapp": f"{PACKAGE}.server_app:app", "clientapp": f"{PACKAGE}.client_app:app"}
    app = {"publisher": "ehfl", "components": components, "config": dict(config)}
    known = {"files": {name: digest_of_text(content) for name, content in files.items()}}
    return sealed(tomli_w.dumps({"project": project, "tool": {"flwr": {"app": app}, "ehfl": known}}))


def _check_complete(files: Mapping[str, bytes], modules: Mapping[str, Path]) -> None:
    """Refuse what Flower would leave out of the bundle that it makes of the app, or would not take at all."""
    from flwr.cli.build import build_fab_from_files

    try:
        with warnings.catch_warnings(action="ignore"):  # of Flower about a library that it uses
            bundle, _ = build_fab_from_files(files)
    except ValueError as error:
        raise UserError(f"Flower does not take this app: {one_line(UserError(str(error)))}") from None
    with zipfile.ZipFile(io.BytesIO(bundle)) as inside:
        lost = sorted(set(files) - set(inside.namelist()))
    if lost:
        why = "which takes neither tests nor folders such as build, lib or env, and no compiled modules"
        place = modules[lost[0]]
        raise UserError(f"{place} would be left out of a Flower App, {why}: give it another name or place")


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files, and delete those of an earlier app that are not among them."""
    earlier = _earlier(folder)
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if not (folder / name).is_file() or (folder / name).read_bytes() != content:
            with written_whole(folder / name) as file:
                file.write(content)
    for name in earlier - set(files):
        (folder / name).unlink(missing_ok=True)


def _earlier(folder: Path) -> set[str]:
    """Return the files that were written into a folder before; refuse a folder with anything of somebody else's."""
    if folder.exists() and not folder.is_dir():
        raise InvalidValue("folder", "a folder", f"{folder}, a file")
    if not folder.is_dir() or not any(folder.iterdir()):
        return set()
    try:
        text = check_seal((folder / PROJECT).read_text(encoding="utf-8"))
        known: dict[str, str] = tomllib.loads(text)["tool"]["ehfl"]["files"]
    except (OSError, ValueError, LookupError):
        allowed = "empty, or an app that ehfl wrote and nobody changed"
        raise InvalidValue("folder", allowed, folder) from None
    for name, digest in known.items():
        if (folder / name).is_file() and digest_of_file(folder / name) != digest:
            raise UserError(f"{folder / name} was changed since ehfl wrote it: write the app into another folder")
    return set(known)
