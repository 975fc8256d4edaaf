"""The user's modules as they are now: found in the folder that a spec says, imported anew when a file has changed."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FunctionType, ModuleType

from ehfl.files import fingerprint
from ehfl.own_code.made_of import INSTALLED, Files, file_of, is_own, made_of
from ehfl.validation import UserError

Marks = dict[str, str]  # a fingerprint each

_CLOCKS_DIFFER = 2.0  # by so much at most, those of a file system and of this machine [s]

_loaded: dict[str, tuple[Files, Marks]] = {}  # what each module that was asked for is made of, as it was imported
_before_first: list[Callable[[], None]] = []  # calls to make before the first user module is imported


class _Beside:
    """Finds modules in the folder of a spec's code: after Python's and installed ones, before all others.

    What a program imports for itself, while ehfl does nothing, is found there only if it is nowhere else.
    """

    folder: str | None = None
    held = False  # whether modules stay as they were imported, whatever happens to their files
    importing = False  # whether ehfl is about to import something
    refused: str | None = None  # the option that would allow user code, None where it is allowed

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Return where a module is imported from, None where that is for others to say."""
        if path is not None or self.folder is None or name in sys.stdlib_module_names:
            return None
        found = PathFinder.find_spec(name, [self.folder])
        ours = self.held or self.importing
        before = [folder for folder in sys.path if not ours or INSTALLED & set(Path(folder).parts)]
        if found is None or PathFinder.find_spec(name, before) is not None:
            return None
        # A folder without an __init__.py is a package only where no file of that name is a module.
        other = PathFinder.find_spec(name) if found.origin is None else None
        return None if other is not None and other.origin is not None else found


_beside = _Beside()
sys.meta_path.insert(sys.meta_path.index(PathFinder), _beside)


def look_in(folder: str | None) -> None:
    """Look for the user's modules in that folder first, from now on."""
    if folder is not None and _beside.refused is None:  # else what ehfl imports for itself could be found there
        _beside.folder = folder


def hold(folder: str | None) -> None:
    """Look in that folder, and import nothing anew from now on."""
    look_in(folder)
    _beside.held = True
    _forget_changed()


@contextmanager
def held(folder: str | None) -> Iterator[None]:
    """Look in that folder, and import nothing anew inside, so that all is done with one version of the code."""
    outer = _beside.held
    try:
        if not outer:
            hold(folder)
        yield
    finally:
        _beside.held = outer


@contextmanager
def allowed(trust: bool, option: str) -> Iterator[None]:
    """Import user code inside only if it is trusted; the error names the option that says so."""
    outer, _beside.refused = _beside.refused, None if trust else option
    try:
        yield
    finally:
        _beside.refused = outer


@contextmanager
def contained() -> Iterator[None]:
    """Put the working directory and Python's streams back to what they were, if user code inside changes them."""
    folder, streams = Path.cwd(), (sys.stdout, sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        with suppress(OSError):  # a folder that is gone
            os.chdir(folder)


def before_first_import(call: Callable[[], None]) -> None:
    """Make this call, once, before the next user module is imported."""
    _before_first.append(call)


def imported(name: str) -> ModuleType:
    """Return a module as it is now: imported anew if a file of the user's own that it is made of has changed."""
    if _beside.refused is not None:  # importing it would run it
        raise UserError(f"not imported: the code that a run folder names is run only with {_beside.refused}")
    while _before_first:
        _before_first.pop()()
    outer, _beside.importing = _beside.importing, True
    try:
        if not _beside.held:
            _forget_changed()
        if name not in _loaded or name not in sys.modules:
            with contained():
                _import(name)
    finally:
        _beside.importing = outer
    return sys.modules[name]


def versions(name: str) -> Marks:
    """Return the fingerprint of every file that a module is made of, as it was imported.

    >>> list(versions("colorsys"))  # of what is not the user's own, the file itself and no more
    ['colorsys.py']
    """
    imported(name)
    marks = _loaded[name][1]
    if not marks:
        raise UserError(f"{name} has no file: put the class into one, from which other processes can import it")
    return dict(marks)


def _import(name: str) -> None:
    ours = {file for files, _ in _loaded.values() for file in files.values()}
    found = made_of({name: None})
    _check_no_other(found)
    others = [file for file in found.values() if file not in ours]
    # What somebody else has imported is as its file is, unless that was written since this process began.
    if any(file.stat().st_mtime > _beginning() for file in others):
        _forget(others)
    module = importlib.import_module(name)
    files = made_of({name: None} | {one.__name__: Path(str(one.__file__)) for one in _reached(module)})
    _loaded[name] = files, _marks(files)


def _check_no_other(files: Files) -> None:
    """Refuse files in whose place a module that the program has imported by the same name would be used."""
    known = {file.name for file in files.values()}
    for name, module in list(sys.modules.items()):
        there = Path(str(getattr(module, "__dict__", {}).get("__file__")))
        meant = file_of(name) if there.name in known and is_own(there) else None
        if meant is not None and meant in files.values() and meant.resolve() != there.resolve():
            fault = f"{name} would be {meant}, but this program has imported {there} by that name"
            raise UserError(f"{fault}: give one of them another name")


@cache
def _beginning() -> float:
    """Return when this process began, as file times are counted; long ago where the system does not say."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        return booted + ticks / os.sysconf("SC_CLK_TCK") - _CLOCKS_DIFFER
    except (OSError, ValueError, AttributeError):
        return 0.0


def _reached(module: ModuleType) -> list[ModuleType]:
    """Return the user's modules that a module has among its names, or whose classes or functions it has there.

    This is what finds a module that was imported by a name which no source shows.
    """
    found, todo = {}, [module]
    while todo:
        for value in list(vars(todo.pop()).values()):
            kind = type(value)  # not isinstance, which asks a stand-in for what it stands for
            home = value.__module__ if issubclass(kind, type | FunctionType) else ""
            one = value if issubclass(kind, ModuleType) else sys.modules.get(home)
            file = getattr(one, "__dict__", {}).get("__file__")
            if one is not None and isinstance(file, str) and file not in found and is_own(Path(file)):
                found[file] = one
                todo.append(one)
    return list(found.values())


def _forget_changed() -> None:
    """Forget all that was imported if some of it has changed: modules may share what they import."""
    if not all(_is_as_it_was(name, *known) for name, known in _loaded.items()):
        _forget(file for files, _ in _loaded.values() for file in files.values())
        _loaded.clear()


def _is_as_it_was(name: str, files: Files, marks: Marks) -> bool:
    with suppress(OSError):  # a file that is gone
        return (file_of(name) in files.values() or not files) and _marks(files) == marks
    return False


def _marks(files: Files) -> Marks:
    return {name: fingerprint(file.read_bytes()) for name, file in sorted(files.items())}


def _forget(files: Iterable[Path]) -> None:
    """Let what was imported from those of these files that are the user's own be imported anew."""
    gone = {str(file) for file in files if is_own(file)}
    for name, module in list(sys.modules.items()):
        facts = getattr(module, "__dict__", {})  # asked in this way, no module imports anything
        being_imported = getattr(facts.get("__spec__"), "_initializing", False)
        if facts.get("__file__") in gone and name != "__main__" and not being_imported:
            del sys.modules[name]
            package, _, last = name.rpartition(".")
            with suppress(AttributeError, KeyError):  # `from package import module` would find it there
                delattr(sys.modules[package], last)
    for file in gone:  # Python tells compiled code from a newer source by the second in which that was written
        with suppress(OSError, NotImplementedError):
            Path(importlib.util.cache_from_source(file)).unlink(missing_ok=True)
    importlib.invalidate_caches()
