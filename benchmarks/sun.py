"""How fast the sun shines: ehfl's `sun` against a NumPy product of the same size, in one run, on this machine.

    make bench                      or  python -m benchmarks.sun [--clients 1e4] [--hours 8760] [--repeats 3]

The baseline is the least that such an array costs: one series of hours times one factor a client, by NumPy's outer
product. "one sky" has that and the shuffled weather, "all" three sites, eight directions, shading and an own factor for
each client and day. They take turns, and medians are compared. "made" is reading a file and asking pvlib, once.
"""

from __future__ import annotations

import argparse
import statistics
from functools import partial
from typing import Any

import numpy as np
from benchmarks.fleet import seconds

from ehfl import Sun

ALL: dict[str, Any] = {
    "site": ["north-carolina", "alaska", "florida"],
    "azimuth_spread": 90,
    "shading": 0.3,
    "variation": 0.2,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=float, default=1e4)
    parser.add_argument("--hours", type=float, default=8760)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rounds, clients = range(int(options.hours)), range(int(options.clients))

    Sun(1)  # pvlib is imported, which is not counted
    made = seconds(partial(Sun, 1, site="alaska"))
    plain, full = Sun(2), Sun(2, **ALL)
    series, factors = np.linspace(0, 1, len(rounds)), np.linspace(1, 2, len(clients))
    tasks = {
        "NumPy": lambda: np.multiply.outer(series, factors),
        "one sky": lambda: plain.watts(0, rounds, clients, 3600.0),
        "all": lambda: full.watts(0, rounds, clients, 3600.0),
    }
    turns = [{name: seconds(task) for name, task in tasks.items()} for _ in range(options.repeats + 1)][1:]
    took = {name: statistics.median(turn[name] for turn in turns) for name in tasks}
    print(f"sun, {len(clients):,} clients, {len(rounds):,} hours   made {made:.2f} s")
    for name, time in took.items():
        print(f"{name:>10} {time:>6.2f} s   {time / took['NumPy']:>5.1f} times NumPy's outer product")


if __name__ == "__main__":
    main()
