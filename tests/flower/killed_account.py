"""Accounts under stress: `python killed_account.py sweep DIR` kills one at every instant, `... race DIR` races to pay.

An instant is just before a file is written, half way through, and just before each fsync and rename: what lies between
two of them changes nothing on the disk.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ehfl.energy import Fleet, Replay
from ehfl.flower.node.account import Account, AccountFile, Stale, Standing

RUN = "0123abcd"
ARRIVALS = [[1], [0], [2]]


def serve(folder: Path, answered: Callable[[], object]) -> None:
    """Be asked for every round from where the account stands, as by a server that goes on after a kill."""
    fleet = Fleet(1, Replay(ARRIVALS), initial=1)
    path, account = folder / f"{RUN}.json", Account(folder, RUN, fleet, 0, rounds=3, seed=0)
    for t in range(json.loads(path.read_bytes())["round"] if path.exists() else 0, 3):
        energy = account.at(t).energy
        answered()
        if energy >= 1 and t != 1:
            account.pay(t)
            answered()
    account.at(3)
    answered()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def serve_until(instant: int, folder: Path, answered: Callable[[], object]) -> None:
    """Serve, and be killed at that instant."""
    left = itertools.count(instant, -1)

    def before(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any) -> Any:
            if next(left) <= 0:
                die()
            return call(*given)

        return wrapped

    class Torn(io.BufferedWriter):
        def write(self, content: Any) -> int:
            if next(left) <= 0:
                super().write(content[: len(content) // 2])
                self.flush()
                die()
            return super().write(content)

    def opened(path: Path, mode: str = "r", *given: Any, **named: Any) -> Any:
        return torn(path) if mode == "xb" else plain(path, mode, *given, **named)

    torn, plain = before(lambda path: Torn(io.FileIO(path, "x"))), Path.open
    os.fsync, Path.replace = before(os.fsync), before(Path.replace)  # type: ignore[method-assign]
    Path.open = opened  # type: ignore[assignment]
    serve(folder, answered)


def in_a_child(work: Callable[[Callable[[], object]], object]) -> tuple[bool, int]:
    """Return whether the child was killed, and how many answers it gave; a child that fails is an error."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(lambda: os.write(write, b"."))
        except BaseException as error:  # the child must not return into the sweep
            print(repr(error), file=sys.stderr, flush=True)  # noqa: T201
            os._exit(1)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answers:
        given = len(answers.read())
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the account failed"
    return os.WIFSIGNALED(status), given


def sweep(folder: Path) -> dict[str, Any]:
    """Kill a server's client at each instant, go on, and compare with one that was left alone."""
    os.fsync = lambda fd: None  # a kill loses nothing that was written, as a power cut does: no need to wait
    standings: list[bytes | None] = [None]
    alone = folder / "alone"
    serve(alone, lambda: standings.append(content_of(alone)))
    different: list[int] = []
    for instant in itertools.count():
        place = folder / str(instant)
        killed, answers = in_a_child(lambda answered: serve_until(instant, place, answered))  # noqa: B023
        if not killed:
            return {"instants": instant, "different": different}
        torn = content_of(place) not in standings[answers : answers + 2]  # what was answered is on the disk
        in_a_child(lambda answered: serve(place, answered))  # noqa: B023
        swept = os.listdir(place) == [f"{RUN}.json"]  # noqa: PTH208
        if torn or not swept or content_of(place) != standings[-1]:
            different.append(instant)
    raise AssertionError("unreachable")


def content_of(folder: Path) -> bytes | None:
    path = folder / f"{RUN}.json"
    return path.read_bytes() if path.exists() else None


def race(folder: Path) -> None:
    """Pay for ten rounds while others do the same; fail if two are at the file at once."""
    read = AccountFile.read

    def slowly(self: AccountFile) -> Standing | None:
        inside = self.folder / "inside"
        inside.touch(exist_ok=False)
        time.sleep(0.01)
        inside.unlink()
        return read(self)

    AccountFile.read = slowly  # type: ignore[method-assign]
    account = Account(folder, RUN, Fleet(1, Replay([[1]] * 10), initial=1), 0, rounds=10, seed=0)
    print("ready", flush=True)  # noqa: T201
    sys.stdin.read()  # until it is closed, for all at once
    for t in range(10):
        try:
            account.at(t)
            account.pay(t)
        except Stale:  # another one is ahead, and has paid
            continue
    account.at(10)


if __name__ == "__main__":
    if sys.argv[1] == "sweep":
        print(json.dumps(sweep(Path(sys.argv[2]))))  # noqa: T201
    else:
        race(Path(sys.argv[2]))
