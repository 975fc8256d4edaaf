"""The script that Python runs: `__main__` here, and a module like any other in the processes that import it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ehfl.validation import InvalidValue

_GUARD = re.compile(r"""^if\s+__name__\s*==\s*["']__main__["']""", re.MULTILINE)


def script_module(kind: str) -> str:
    """Return the module name of the running script, from which other processes import its class `kind`.

    Refused where there is no file (a notebook, `python -c`), and where importing the file would run the work again.
    """
    main = sys.modules["__main__"]
    file = Path(str(getattr(main, "__file__", "")))
    if not file.is_file():
        allowed = f"a class in a file, which other processes can import: put {kind} into mine.py, say, and import it"
        raise InvalidValue("", allowed, f"{kind} of a notebook or an interactive session")
    if not _GUARD.search(file.read_text(encoding="utf-8", errors="replace")):
        allowed = f'a class in a script that does its work below if __name__ == "__main__": since others import {kind}'
        raise InvalidValue("", allowed, f"{kind} of {file.name}, which has no such line")
    spec = getattr(main, "__spec__", None)  # there for python -m package.module
    return file.stem if spec is None else str(spec.name)
