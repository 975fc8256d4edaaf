"""The reference: a page per room with every public name, written from `__init__.pyi` before Sphinx reads the pages.

Public names are imported when first used, so autodoc, which looks into modules, would find none. Each name is
therefore written out with its own directive. A name of `ehfl` itself is described once, on its room's page.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

import ehfl
from _site.docstrings import as_rst, escape, fields_of

ROOMS = ("energy", "scheduling", "planning", "theory", "partition", "learning", "experiment", "analysis", "report",
         "runs", "flower")  # fmt: skip
_SMALL = {"randomness": ("Purpose", "words"), "validation": ("InvalidValue",)}  # modules of which users need a part


def origins() -> dict[str, str]:
    """Return the room of each public name of `ehfl`, from its stub."""
    stub = ast.parse(Path(ehfl.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    found = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {alias.asname or alias.name: node.module.split(".")[0] for alias in node.names}
    return found


def names_of(room: str) -> list[str]:
    """Return the public names of a room that neither `ehfl` nor a room before it has."""
    names = _all_names(room) - set(origins())
    earlier = ROOMS[: ROOMS.index(room)] if room in ROOMS else ()
    said = {(name, id(_get(other, name))) for other in earlier for name in _all_names(other)}
    return sorted((name for name in names if (name, id(_get(room, name))) not in said), key=str.lower)


def _all_names(room: str) -> set[str]:
    return set(_SMALL.get(room) or getattr(importlib.import_module(f"ehfl.{room}"), "__all__", ()))


def _get(room: str, name: str) -> Any:
    return getattr(importlib.import_module(f"ehfl.{room}"), name)


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    at_top, made, rows = origins(), {}, []
    for room in (*ROOMS, *_SMALL):
        top = sorted((name for name, where in at_top.items() if where == room), key=str.lower)
        title = f"ehfl.{room}"
        about = inspect.getdoc(importlib.import_module(title)) or ""
        text = [title, "=" * len(title), "", *as_rst(about.splitlines()), ""]
        for heading, prefix, names in (("Names of ehfl", "ehfl", top), (f"Names of {title}", title, names_of(room))):
            if names:
                text += [heading, "-" * len(heading), ""]
            for name in names:
                text += _directive(f"{prefix}.{name}", getattr(importlib.import_module(prefix), name))
                rows.append((f"{prefix}.{name}", _first_line(getattr(importlib.import_module(prefix), name))))
        made[room] = "\n".join(text) + "\n"
    made["index"] = _index(rows)
    return made


def _directive(name: str, found: Any) -> list[str]:
    if inspect.isclass(found):
        return [f".. autoclass:: {name}", "   :members:", ""]
    if inspect.isroutine(found):
        return [f".. autofunction:: {name}", ""]
    doc = as_rst((inspect.getdoc(found) or "").splitlines()) if _has_own_doc(found) else []
    return [f".. py:data:: {name}", "", *(f"   {line}" for line in doc), ""]


def _has_own_doc(found: Any) -> bool:
    return type(found).__module__.startswith("ehfl.")


def _first_line(found: Any) -> str:
    if not (inspect.isclass(found) or inspect.isroutine(found) or _has_own_doc(found)):
        return repr(found) if len(repr(found)) < 60 else type(found).__name__
    text = (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")
    return "" if text.startswith(">>>") else text


def _index(rows: list[tuple[str, str]]) -> str:
    text = ["Reference", "=========", "", "Every public name, from its docstring. The tests run the examples.",
            "", ".. toctree::", "   :maxdepth: 1", "", *(f"   {room}" for room in (*ROOMS, *_SMALL)), "",
            "All names", "---------", "", ".. list-table::", "   :widths: 30 70", ""]  # fmt: skip
    for name, line in rows:
        text += [f"   * - :py:obj:`~{name}`".replace("~ehfl.", "ehfl."), f"     - {escape(line)}"]
    return "\n".join(text) + "\n"


def write(app: Any) -> None:
    """Write the pages that changed."""
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def convert(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Replace a docstring's lines with reStructuredText, and add the fields of a dataclass."""
    lines[:] = [*as_rst(lines), *(fields_of(found) if what == "class" else [])]


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write, priority=100)
    app.connect("autodoc-process-docstring", convert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
