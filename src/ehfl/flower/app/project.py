"""A Flower App project of an experiment, for `flwr run` on this machine or on any SuperLink."""

from __future__ import annotations

import io
import re
import tomllib
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from importlib.resources import files as files_of
from pathlib import Path
from string import Template
from typing import Any

import tomli_w

import ehfl
from ehfl import user_code
from ehfl.experiment import Arm, Spec, write_spec
from ehfl.files import check_seal, digest_of_file, digest_of_text, sealed, written_whole
from ehfl.flower.app.bundle import FILE
from ehfl.flower.app.specs import bundle_of, one_run
from ehfl.runs import files_named_in
from ehfl.validation import InvalidValue, UserError, one_line

PROJECT = "pyproject.toml"
_LONGEST_NAME = 32  # of a Flower App: letters, digits and dashes, a letter first

PACKAGE = "ehfl_app"  # the app's package; user modules are beside it

INIT = '"""A Flower App that ehfl wrote: README.md says how to run it."""\n'

SERVER = '''"""The server: asks nodes for their energy, lets the scheduler select clients, averages their models."""

from pathlib import Path

from ehfl.flower import server_app

app = server_app(Path(__file__).parents[1] / "spec.toml")
'''

CLIENT = '''"""A node: keeps its energy account, and trains on request if it has enough energy."""

from pathlib import Path

from ehfl.flower import client_app

app = client_app(Path(__file__).parents[1] / "arms.toml")
'''


_NODE = (
    "    flower-supernode --insecure --superlink 127.0.0.1:9000 --port {port} "
    "--node-config \"client-id={client} state='ledgers-{client}'\""
)
_SHOWN_NODES = 2


def write_app(folder: Path, spec: Spec, runs: Path, *, arm: str | None = None, seed: int | None = None) -> None:
    """Write the project of an app that plays one arm with one seed; the defaults are the first ones.

    `runs` is the server's folder for runs. User modules that the spec names are copied into the app. `folder` must be
    empty, or an app that this function wrote and that was not edited since.
    """
    (run,) = one_run(spec, arm, seed).runs()
    modules = _modules(spec)
    files = _own_files(modules) | {name: text.encode() for name, text in _texts(spec, run.arm, modules).items()}
    config = {"runs": str(runs.absolute()), "arm": run.arm.label, "seed": run.seed}
    project = _project(spec, config, files, licensed=not modules)
    whole = {PROJECT: project.encode()} | files  # first, because it identifies an incomplete folder as an app of ehfl
    _check_complete(whole, modules)
    _write(folder, whole)


def _texts(spec: Spec, arm: Arm, modules: Mapping[str, Path]) -> dict[str, str]:
    """Return the files that are written anew, by name."""
    # Without a folder in the spec, user classes are imported from the spec's folder on every machine.
    facts = {key: value for key, value in spec.facts().items() if key != "code"}
    installed = [_module(name) for name, file in modules.items() if not user_code.is_user_file(file)]
    clients, labels = arm.setting.fleet.clients, [one.label for one in spec.arms]
    readme = _readme(spec.name, labels, arm.label, spec.seeds, clients, _files_named(spec), installed)
    package = {"__init__": INIT, "server_app": SERVER, "client_app": CLIENT}
    written = {f"{PACKAGE}/{name}.py": text for name, text in package.items()}
    return {"README.md": readme, "spec.toml": write_spec(facts), FILE: bundle_of(spec).text()} | written


def _own_files(modules: Mapping[str, Path]) -> dict[str, bytes]:
    """Return the user's files, with the same relative paths as in the user's tree."""
    files = {name: file.read_bytes() for name, file in modules.items() if user_code.is_user_file(file)}
    clashes = [name for name in files if name.partition("/")[0] in (PACKAGE, f"{PACKAGE}.py")]
    if clashes:
        raise UserError(f"{modules[clashes[0]]} has the name of the app's own package: give it another one")
    return files


def _modules(spec: Spec) -> dict[str, Path]:
    """Return the files of the user classes, by relative path in the user's tree."""
    settings = (spec.base, *(arm.setting for arm in spec.arms))
    with user_code.held(spec.code):
        found = user_code.needed_by({name.split(":")[0] for setting in settings for name in setting.user_classes()})
        return {user_code.place_of(name, file): file for name, file in found.items()}


def _module(file: str) -> str:
    """Return the name of the module in a file.

    >>> _module("mine.py"), _module("mine/__init__.py"), _module("mine/deep.py")
    ('mine', 'mine', 'mine.deep')
    """
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _files_named(spec: Spec) -> list[Path]:
    """Return the files and folders that the spec names by path, which are not copied into the app."""
    settings = [one.setting.facts() for one in spec.arms]
    data = [Path(facts["learning"]["data"]) for facts in settings if "data" in facts["learning"]]
    return list(dict.fromkeys([*data, *(file for facts in settings for file in files_named_in(facts).values())]))


def _project(spec: Spec, config: Mapping[str, Any], files: Mapping[str, bytes], *, licensed: bool) -> str:
    """Return pyproject.toml, with a checksum as its last line."""
    name = f"ehfl-{re.sub('[^A-Za-z0-9]+', '-', spec.name)}"[:_LONGEST_NAME].strip("-")
    project = {
        "name": name,
        "version": "1.0.0",
        "description": f"{spec.name} on Flower, written by ehfl {ehfl.__version__}",
        **({"license": "Apache-2.0"} if licensed else {}),  # user code has no license unless the user sets one
        "dependencies": [f"ehfl[flower]>={ehfl.__version__}"],
    }
    components = {"serverapp": f"{PACKAGE}.server_app:app", "clientapp": f"{PACKAGE}.client_app:app"}
    app = {"publisher": "ehfl", "components": components, "config": dict(config)}
    known = {"files": {name: digest_of_text(content) for name, content in files.items()}}
    return sealed(tomli_w.dumps({"project": project, "tool": {"flwr": {"app": app}, "ehfl": known}}))


def _check_complete(files: Mapping[str, bytes], modules: Mapping[str, Path]) -> None:
    """Raise an error if Flower would reject the app or leave files out of its bundle."""
    from ehfl.flower.internals import packed_app

    try:
        with warnings.catch_warnings(action="ignore"):  # Flower's, about a library that it uses
            bundle = packed_app(files)
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
    """Return the files of an earlier app in the folder; raise an error if the folder contains anything else."""
    if folder.exists() and not folder.is_dir():
        raise InvalidValue("folder", "a folder", f"{folder}, a file")
    if not folder.is_dir() or not any(folder.iterdir()):
        return set()
    try:
        text = check_seal((folder / PROJECT).read_text(encoding="utf-8"))
        known: dict[str, str] = tomllib.loads(text)["tool"]["ehfl"]["files"]
    except (OSError, ValueError, LookupError):
        allowed = "empty, or an app that ehfl wrote, unedited"
        raise InvalidValue("folder", allowed, folder) from None
    for name, digest in known.items():
        if (folder / name).is_file() and digest_of_file(folder / name) != digest:
            raise UserError(f"{folder / name} was changed since ehfl wrote it: write the app into another folder")
    return set(known)


def _readme(
    name: str, arms: Sequence[str], arm: str, seeds: Sequence[int], clients: int, files: Sequence[Path],
    modules: Sequence[str],
) -> str:  # fmt: skip
    """Return how to run the app."""
    named = [f"the file or folder `{file}`, which the spec names" for file in files]
    installed = [f"the module `{module}`, which is installed here" for module in modules]
    needs = "".join(f"\n- {one}" for one in (*named, *installed))
    template = (files_of("ehfl.flower.app") / "readme.md").read_text(encoding="utf-8")
    return Template(template).substitute(
        nodes="\n".join(_NODE.format(client=one, port=9100 + one) for one in range(min(clients, _SHOWN_NODES))),
        name=name, arm=arm, package=PACKAGE, clients=clients, last=clients - 1,
        needs=f"\nEach needs besides, in the same place:\n{needs}" if needs else "",
        arms=", ".join(f'"{one}"' for one in arms), seeds=", ".join(map(str, seeds)),
    )  # fmt: skip
