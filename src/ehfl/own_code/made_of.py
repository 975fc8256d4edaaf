"""What a module is made of: its file, and those of all that it imports from the user's own tree. Nothing is run."""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.machinery import ModuleSpec
from itertools import accumulate
from pathlib import Path

from ehfl.validation import UserError

Files = dict[str, Path]  # by a name that stays when the whole tree moves: "package/module.py"

INSTALLED = {"site-packages", "dist-packages"}
_NOT_OWN = [Path(__file__).parents[1], *(Path(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib"))]
# Calls that import a module by name, and those that run a file: only a run can tell which.
_BY_NAME = {"import_module", "__import__"}
_BY_PATH = {"run_path", "run_module", "spec_from_file_location", "SourceFileLoader"}
_MOST_FILES = 1000  # that are watched because of one such call


def is_own(file: Path) -> bool:
    """Return whether a file is the user's own: not Python's, not installed, not ehfl's."""
    return not INSTALLED & set(file.parts) and not any(file.is_relative_to(folder) for folder in _NOT_OWN)


def made_of(modules: Mapping[str, Path | None]) -> Files:
    """Return the files of these modules, and of what they import, in turn, from the user's own tree.

    Where a module can be found only by whoever has imported it, its file is given.
    """
    importlib.invalidate_caches()  # a file that was written a moment ago
    found: Files = {}
    todo, seen = list(modules), set()
    while todo:
        name = todo.pop()
        file = None if name in seen else file_of(name) or modules.get(name)
        seen.add(name)
        if file is None or not (is_own(file) or name in modules):
            continue
        package = name if file.stem == "__init__" else name.rpartition(".")[0]
        found[_label(package, file.name)] = file
        if is_own(file) and file.suffix == ".py":
            names, by_other_ways = _imports(file, package)
            todo += [*_with_packages(name), *names]
            if by_other_ways:
                beside = _all_beside(file)
                found |= {_label(package, one.relative_to(file.parent).as_posix()): one for one in beside}
    return found


def file_of(name: str) -> Path | None:
    """Return the file that a module would be imported from; its packages are not imported for it."""
    first, *rest = _with_packages(name)
    finders = [finder.find_spec for finder in sys.meta_path if hasattr(finder, "find_spec")]
    spec = next((found for find in finders if (found := find(first, None)) is not None), None)
    for part in rest:
        places = spec.submodule_search_locations if spec is not None else None
        spec = _inside(part, places or ())
    origin = spec.origin if spec is not None else None
    return Path(origin) if origin and Path(origin).is_file() else None


def _inside(name: str, places: Iterable[str]) -> ModuleSpec | None:
    """Return where a module of a package lies; a folder without __init__.py counts where there is nothing else."""
    folder = None
    for place in places:
        finder = pkgutil.get_importer(place)
        spec = finder.find_spec(name) if finder is not None else None
        if spec is not None and spec.loader is not None:
            return spec
        folder = folder or spec
    return folder


def _imports(file: Path, package: str) -> tuple[list[str], bool]:
    """Return the modules that a file may import, and whether it does so in ways that its text does not show."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError):  # importing it says so better
        return [], False
    names = [name for node in nodes for name in _names(node)]
    found = []
    for name in names:
        with suppress(ImportError):  # beyond the top of the package
            found += _with_packages(importlib.util.resolve_name(name, package))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return found, any(_called(call) in _BY_PATH or (_called(call) in _BY_NAME and not _text(call)) for call in calls)


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the modules that a statement names, and what may be one of theirs; dots before a relative one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        yield base
        yield from (f"{base}{alias.name}" if base.endswith(".") else f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and _called(node) in _BY_NAME:
        yield from _text(node)


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else str(getattr(call.func, "id", ""))


def _text(call: ast.Call) -> list[str]:
    """Return the first argument of a call where it is a plain text."""
    given = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    return [given] if isinstance(given, str) else []


def _all_beside(file: Path) -> list[Path]:
    """Return all Python files of a file's folder and those below, any of which it may import."""
    found = []
    for path in file.parent.rglob("*.py"):
        if is_own(path):
            found.append(path)
        if len(found) > _MOST_FILES:
            raise UserError(
                f"{file} imports what its text does not show, so its whole folder is watched, and that has more than "
                f"{_MOST_FILES:,} Python files: put it into a folder of its own"
            )
    return found


def _with_packages(name: str) -> list[str]:
    """Return a module's name after those of its packages."""
    return list(accumulate(name.split("."), "{}.{}".format))


def _label(package: str, file: str) -> str:
    return f"{package}.{file}".replace(".", "/", package.count(".") + 1) if package else file
