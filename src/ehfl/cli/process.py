"""The process of a command: user code runs in a child, whose death is reported; SIGTERM acts as Ctrl-C does."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

import typer

_FINISHED = b"."  # written by a child whose Python ended in order, which os._exit and signals do not let it do


def continue_in_child() -> None:
    """Fork; the child returns from here and does the work, the parent waits for it and never returns.

    Called before the first user module is imported: nothing has been computed or opened yet, so the fork is cheap and
    no thread of a library is lost by it. Where there is no fork (Windows), the work goes on in this process.
    """
    if not hasattr(os, "fork"):
        return
    from ehfl.experiment.run.workers import end_with

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()  # what is in the buffer would be written by both
    parent = os.getpid()
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        _wait_for(child, reading)
    os.close(reading)
    atexit.register(os.write, writing, _FINISHED)
    end_with(parent)


def _wait_for(child: int, reading: int) -> NoReturn:
    """Wait for the child and exit with its code; with 2 and one line where user code has killed it."""
    stopped: list[int] = []

    def forward(number: int, frame: object) -> None:
        stopped.append(number)
        with suppress(ProcessLookupError):
            os.kill(child, number)

    signal.signal(signal.SIGTERM, forward)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the child too, which says what happens
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os.set_blocking(reading, False)  # processes that the child started may hold the other end
    finished = False
    with suppress(BlockingIOError):
        finished = os.read(reading, 1) == _FINISHED
    if code < 0 or not finished:
        code = 143 if stopped else _report(code)
    os._exit(code)  # not sys.exit: the frames below would take it for an exit of user code


def _report(code: int) -> int:
    how = f"exit code {code} by os._exit" if code >= 0 else f"killed by {signal.Signals(-code).name}"
    hint = " (out of memory?)" if code == -signal.SIGKILL else ""
    typer.echo(f"ehfl: error: user code ended the process: {how}{hint}", err=True)
    return 2


@contextmanager
def terminated_like_interrupted() -> Iterator[list[int]]:
    """While entered, let SIGTERM end the work as Ctrl-C does: workers are stopped, the user is told how to go on.

    Gives a list that the signal is put into when it comes.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # Python gives signals to that one alone
        yield received
        return

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)
