"""User modules: finding them and the files they need, and importing them again after an edit.

A user class, package.module:Class, needs its module and what that imports, recursively, from the user's files: those
that belong neither to Python, nor to an installed package, nor to ehfl. Fingerprints are of syntax trees, so edited
comments and docstrings do not change them.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import sys
import sysconfig
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import PathFinder
from itertools import accumulate
from pathlib import Path
from types import ModuleType

from ehfl.files import fingerprint
from ehfl.validation import InvalidValue, UserError

Files = dict[str, Path]  # by module name
Marks = dict[str, str]  # fingerprints, by a file's place in the user's tree: "package/module.py"

_INSTALLED = {"site-packages", "dist-packages"}
_NOT_OWN = [Path(__file__).parent, *(Path(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib"))]
_STARTED = time.time() - 2.0  # the clocks of file systems differ from this machine's by less
_MAIN_GUARD = re.compile(r"""^if\s+__name__\s*==\s*["']__main__["']""", re.MULTILINE)


@dataclass(slots=True)
class _State:
    folder: str | None = None  # of the spec's code
    held: bool = False  # whether modules stay as imported although their files change
    refused: str | None = None  # the option that would allow user code, None if it is allowed


_state = _State()
_loaded: dict[str, tuple[Files, Marks]] = {}  # by module: the files that it needs, as imported
_before_first: list[Callable[[], None]] = []  # called before the first user module is imported


def hold(folder: str | None) -> None:
    """Find user modules in that folder, and reload nothing from now on."""
    if folder is not None and _state.refused is None:  # untrusted files must not shadow ehfl's own imports
        _state.folder = folder
    _state.held = True
    # The folder comes after Python's and installed modules, before all others.
    own = [place for place in sys.path if is_user_file(Path(place)) and place != _state.folder]
    others = [place for place in sys.path if not is_user_file(Path(place))]
    sys.path[:] = [*others, *([_state.folder] if _state.folder else []), *own]
    if not all(_is_unchanged(name, *loaded) for name, loaded in _loaded.items()):
        _forget(file for files, _ in _loaded.values() for file in files.values())  # all, since modules share imports
        _loaded.clear()


@contextmanager
def held(folder: str | None) -> Iterator[None]:
    """Find user modules in that folder, and reload nothing inside, so that all work uses one version of the code."""
    outer, path = _state.held, list(sys.path)
    try:
        if not outer:
            hold(folder)
        yield
    finally:
        _state.held = outer
        if not outer:  # places that user code has added stay
            sys.path[:] = [*path, *(place for place in sys.path if place not in (*path, _state.folder))]


@contextmanager
def allowed(trust: bool, option: str) -> Iterator[None]:
    """Import user code inside only if it is trusted; the error names the option to trust it."""
    outer, _state.refused = _state.refused, None if trust else option
    try:
        yield
    finally:
        _state.refused = outer


@contextmanager
def contained() -> Iterator[None]:
    """Restore the working directory and Python's streams, which user code inside may change."""
    folder, streams = Path.cwd(), (sys.stdout, sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        with suppress(OSError):  # a folder that is gone
            os.chdir(folder)


def before_first_import(call: Callable[[], None]) -> None:
    """Register a call to make once, before the next user module is imported."""
    _before_first.append(call)


def imported(name: str) -> ModuleType:
    """Return a module, imported again if a file that it needs has changed."""
    if _state.refused is not None:  # importing it would run it
        raise UserError(f"not imported: the code that a run folder names is run only with {_state.refused}")
    while _before_first:
        _before_first.pop()()
    with held(None):
        if name not in _loaded or name not in sys.modules:
            _import(name)
    return sys.modules[name]


def versions(name: str) -> Marks:
    """Return the fingerprint of every file that a module needs, as imported.

    >>> list(versions("colorsys"))  # for a module that is not the user's, its own file alone
    ['colorsys.py']
    """
    imported(name)
    marks = _loaded[name][1]
    if not marks:
        raise UserError(f"{name} has no file: put the class into one, from which other processes can import it")
    return dict(marks)


def needed_by(names: Collection[str]) -> Files:
    """Return the files of these modules and of what they import, recursively, from the user's files; run nothing."""
    importlib.invalidate_caches()  # to find files written a moment ago
    found: Files = {}
    todo, seen = list(names), set()
    while todo:
        name = todo.pop()
        file = None if name in seen else _file_of(name)
        seen.add(name)
        if file is not None and (is_user_file(file) or name in names):
            found[name] = file
            todo += _imports(file, name) if is_user_file(file) else []
    return found


def place_of(name: str, file: Path) -> str:
    """Return a module's file relative to the top of the user's files.

    >>> place_of("pack", Path("/home/me/pack/__init__.py")), place_of("pack.deep", Path("/home/me/pack/deep.py"))
    ('pack/__init__.py', 'pack/deep.py')
    """
    package = name if file.stem == "__init__" else name.rpartition(".")[0]
    return "/".join([*filter(None, package.split(".")), file.name])


def is_user_file(file: Path) -> bool:
    """Return whether a file is the user's: not Python's, not installed, not ehfl's."""
    return not _INSTALLED & set(file.parts) and not any(file.is_relative_to(folder) for folder in _NOT_OWN)


def script_module(kind: str) -> str:
    """Return the module name under which other processes import the running script, for its class `kind`.

    Refused without a file (a notebook, `python -c`), and if importing the file would run the work again.
    """
    main = sys.modules["__main__"]
    file = Path(str(getattr(main, "__file__", "")))
    if not file.is_file():
        allowed = f"a class in a file, which other processes can import: put {kind} into mine.py, say, and import it"
        raise InvalidValue("", allowed, f"{kind} of a notebook or an interactive session")
    if not _MAIN_GUARD.search(file.read_text(encoding="utf-8", errors="replace")):
        allowed = f'a class in a script that does its work below if __name__ == "__main__": since others import {kind}'
        raise InvalidValue("", allowed, f"{kind} of {file.name}, which has no such line")
    spec = getattr(main, "__spec__", None)  # set by python -m package.module
    return file.stem if spec is None else str(spec.name)


def _import(name: str) -> None:
    files = needed_by([name])
    ours = {file for loaded, _ in _loaded.values() for file in loaded.values()}
    others = {one: file for one, file in files.items() if file not in ours}
    there = {one: str(getattr(sys.modules.get(one), "__file__", file)) for one, file in others.items()}
    # Modules that the program has imported stay, unless they came from other files or were edited since it started.
    if there != {one: str(file) for one, file in others.items()} or any(
        file.stat().st_mtime > _STARTED for file in others.values()
    ):
        _forget({*others.values(), *map(Path, there.values())})
    marks = _marks(files)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # a .pyc misses an edit within the same second
    try:
        with contained():
            importlib.import_module(name)
    finally:
        sys.dont_write_bytecode = writes
    _loaded[name] = files, marks


def _is_unchanged(name: str, files: Files, marks: Marks) -> bool:
    with suppress(OSError):  # a file that is gone
        return _file_of(name) == files.get(name) and _marks(files) == marks
    return False


def _forget(files: Iterable[Path]) -> None:
    """Remove the modules of the user's files among these, so that they are imported again."""
    gone = {str(file) for file in files if is_user_file(file)}
    for name, module in list(sys.modules.items()):
        facts = getattr(module, "__dict__", {})  # getattr of a name could make a lazy module import something
        being_imported = getattr(facts.get("__spec__"), "_initializing", False)
        if facts.get("__file__") in gone and name != "__main__" and not being_imported:
            del sys.modules[name]
            package, _, last = name.rpartition(".")
            with suppress(AttributeError, KeyError):  # else `from package import module` finds the old one
                delattr(sys.modules[package], last)
    importlib.invalidate_caches()


def _file_of(name: str) -> Path | None:
    """Return the file that a module would be imported from, without importing its packages."""
    top, *rest = name.split(".")
    spec = None
    with suppress(ImportError, ValueError):  # ValueError for a module without a spec, such as __main__
        spec = PathFinder.find_spec(top) or importlib.util.find_spec(top)
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin and Path(spec.origin).is_file() else None
    places = [Path(place, *rest) for place in spec.submodule_search_locations or ()]
    files = [file for place in places for file in (place / "__init__.py", place.with_name(f"{place.name}.py"))]
    return next((file for file in files if file.is_file()), None)


def _imports(file: Path, module: str) -> Iterator[str]:
    """Yield the modules that a file may import, after their packages; imported names may be modules."""
    package = module if file.stem == "__init__" else module.rpartition(".")[0]
    names = [module]
    for node in ast.walk(_parsed(file.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # beyond the top of the package
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    for name in names:
        yield from accumulate(name.split("."), "{}.{}".format)


def _marks(files: Files) -> Marks:
    """Return the fingerprint of each file's code, ignoring comments and docstrings."""
    return {place_of(name, file): _mark(file.read_bytes()) for name, file in sorted(files.items())}


@lru_cache(maxsize=1000)  # called whenever a module is needed
def _mark(source: bytes) -> str:
    tree = _parsed(source)
    if not tree.body:
        return fingerprint(source)  # a compiled module
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[ast.get_docstring(node, clean=False) is not None :]
    return fingerprint(ast.unparse(tree).encode())  # not ast.dump, which differs between versions of Python


def _parsed(source: bytes) -> ast.Module:
    """Return the syntax tree of a module, an empty one for a compiled module or a syntax error."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):  # importing it reports the error
        return ast.Module([], [])
