"""Names of a package that are imported when they are first used, so that nobody waits for what they do not need."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping


def lazy_names(
    package: str, homes: Mapping[str, Iterable[str]], rooms: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package.

    `homes` has the names that each of its modules offers, `rooms` the modules that are names themselves.

    >>> get, names = lazy_names("ehfl", {"validation": ["InvalidValue"]})
    >>> get("InvalidValue").__name__, "InvalidValue" in names()
    ('InvalidValue', True)
    """
    modules = {name: f"{package}.{home}" for home, names in homes.items() for name in names}
    parts = set(rooms)

    def get(name: str) -> object:
        if name in parts:
            return importlib.import_module(f"{package}.{name}")
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(modules[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules, *parts})

    return get, names
