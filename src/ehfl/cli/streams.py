"""Standard output and error: characters that they cannot encode, user code that prints, a closed pipe."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import NoReturn

from ehfl.user_code import contained


def show_what_can_be_shown() -> None:
    """Let characters that a terminal or pipe does not know be question marks, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def own_prints_aside() -> Iterator[None]:
    """While user code runs, send what it prints to standard error: standard output is for results.

    Afterwards the working directory and the streams are as before, whatever user code has done to them.
    """
    with contained(), _descriptor_aside(), redirect_stdout(sys.stderr):
        yield


@contextmanager
def _descriptor_aside() -> Iterator[None]:
    """Do the same for what prints without asking Python: libraries in C, and programs that the user's code starts."""
    if sys.stdout is None or sys.stderr is None:  # closed: 1 and 2 may be files that were opened since
        yield
        return
    sys.stdout.flush()
    results = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(results, 1)
        os.close(results)


def leave_closed_pipe() -> NoReturn:
    """End quietly where the reader has left, as in `ehfl simulate | head -1`, with the exit code of a shell."""
    with suppress(OSError, ValueError):  # what is left in the buffer would be one more error at Python's end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(141)
