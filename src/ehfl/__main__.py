"""`python -m ehfl` is `ehfl`."""

import os
import sys

# Python puts the current folder first for -m, where its files stand for Python's own modules; `main` puts it last.
if sys.path[0] in ("", os.getcwd()):  # noqa: PTH109  # pathlib could be such a file
    del sys.path[0]

from ehfl.cli import main

main()
