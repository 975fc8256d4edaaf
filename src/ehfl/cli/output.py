"""Where results are written: looked at before the work starts, so that no hour of work ends in an error."""

from __future__ import annotations

import os
from pathlib import Path

from ehfl.validation import InvalidValue


def check_writable(option: str, path: Path, suffixes: tuple[str, ...] = ()) -> None:
    """Refuse a path that could not be written, or whose ending is not one of `suffixes`."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise InvalidValue(option, f"a file name that ends in {', '.join(suffixes)}", path)
    if path.is_dir():
        raise InvalidValue(option, "a file name", f"{path}, a folder")
    folder = path.parent
    if not folder.is_dir():
        raise InvalidValue(option, "in a folder that exists", path)
    if not os.access(folder, os.W_OK):
        raise InvalidValue(option, "in a folder that can be written to", path)
