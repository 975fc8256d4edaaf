"""What commands show while they work, and where they write."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ehfl.validation import InvalidValue

FIGURES = (".png", ".svg", ".pdf")


def check_writable(option: str, path: Path, suffixes: tuple[str, ...] = ()) -> None:
    """Refuse, before the work starts, a path that could not be written or whose ending is not one of `suffixes`."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise InvalidValue(option, f"a file name that ends in {', '.join(suffixes)}", path)
    if path.is_dir():
        raise InvalidValue(option, "a file name", f"{path}, a folder")
    folder = path.parent
    if not folder.is_dir():
        raise InvalidValue(option, "in a folder that exists", path)
    if not os.access(folder, os.W_OK):
        raise InvalidValue(option, "in a folder that can be written to", path)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[object], None] | None]:
    """Give a function to call after each of `total` steps, which moves a bar; None where no terminal would show it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True, refresh_per_second=5) as bar:
        task = bar.add_task(label, total=total)
        yield lambda _: bar.advance(task)
