"""How fast a fleet plays: ehfl against plain vectorised NumPy, in one run, on this machine.

    make bench                      or  python -m benchmarks.fleet [--clients 1e6 ...] [--repeats 5]

Both play Myopic with target = clients / 2 and a Bernoulli harvest of rate 0.5 into an infinite battery, break ties at
random and keep every round's participants; "loop" is ehfl without the keeping. They take turns, several times, and the
medians are compared: these machines are noisy, so only the ratio means something. "empty" starts with nothing in the
batteries, "stocked" with three units each, where every round has ties to break. Memory is what the round loop adds per
client, in a process of its own.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ehfl import Bernoulli, Fleet, Greedy, Myopic, Play, simulate

STARTS = {"empty": 0, "stocked": 3}


def plain_numpy(clients: int, rounds: int, initial: int, seed: int = 0) -> list[NDArray[np.int64]]:
    """Play Myopic as one would write it in an afternoon."""
    rng = np.random.default_rng(seed)
    energy = np.full(clients, initial, dtype=np.int32)
    target = clients // 2
    played = []
    for _ in range(rounds):
        longest = np.argpartition(energy + rng.random(clients), clients - target)[clients - target :]
        chosen = longest[energy[longest] >= 1]
        played.append(chosen)
        energy[chosen] -= 1
        energy += rng.random(clients) < 0.5
        np.minimum(energy, 2**31 - 1, out=energy)
    return played


def seconds(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def compare(clients: int, rounds: int, initial: int, repeats: int) -> tuple[float, float, float]:
    """Return ns per client and round of (plain NumPy, ehfl, ehfl's loop): medians of turns, the first not counted."""
    fleet = Fleet(clients=clients, harvest=Bernoulli(0.5), initial=initial)
    scheduler = Myopic(clients // 2)
    turns = []
    for _ in range(repeats + 1):
        theirs = seconds(lambda: plain_numpy(clients, rounds, initial))
        ours = seconds(lambda: simulate(fleet, scheduler, rounds))
        loop = seconds(lambda: deque(Play(fleet, scheduler, rounds), maxlen=0))
        turns.append((theirs, ours, loop))
    theirs, ours, loop = (statistics.median(turn) / rounds / clients * 1e9 for turn in zip(*turns[1:], strict=True))
    return theirs, ours, loop


def bytes_per_client(clients: int) -> float:
    """Return the peak resident memory that playing adds, without recording, in a process of its own."""
    code = f"from benchmarks.fleet import peak; print(peak({clients}))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(out.stdout)


def peak(clients: int) -> float:
    for _ in Play(Fleet(clients=10_000, harvest=Bernoulli(0.5), initial=3), Myopic(5000), rounds=3):
        pass  # numba and its kernels are loaded before the measurement starts
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = resident("VmRSS")
    fleet = Fleet(clients=clients, harvest=Bernoulli(0.5), initial=3)
    for _ in Play(fleet, Myopic(clients // 2), rounds=4):
        pass
    return (resident("VmHWM") - before) / clients


def resident(field: str) -> int:
    """Return a figure of Linux's account of this process [bytes]."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()

    small = Fleet(clients=10, harvest=Bernoulli(0.5))
    print(f"{'10 clients, 1,000 rounds':<30}", end="")
    for scheduler in (Myopic(5), Greedy()):
        took = min(seconds(lambda: simulate(small, scheduler, 1000)) for _ in range(5))  # noqa: B023
        print(f"{type(scheduler).__name__} {took * 1e3:.0f} ms   ", end="")
    print("\n\n   clients    start    NumPy     ehfl   ratio     loop   [ns per client and round]")
    flat = {}
    for clients in map(int, options.clients):
        rounds = max(4, min(100, 10**8 // clients))
        for name, initial in STARTS.items():
            theirs, ours, loop = compare(clients, rounds, initial, options.repeats)
            flat[clients, name] = ours
            line = f"{clients:>10,} {name:>8} {theirs:>8.2f} {ours:>8.2f} {theirs / ours:>6.1f}x {loop:>8.2f}"
            print(line, flush=True)
    for name in STARTS:
        if {(10**6, name), (10**7, name)} <= flat.keys():
            print(f"cost per client from 10^6 to 10^7, {name}: {flat[10**7, name] / flat[10**6, name]:.2f}x")
    print(f"memory at 10^7 clients: {bytes_per_client(10**7):.1f} bytes a client")


if __name__ == "__main__":
    main()
