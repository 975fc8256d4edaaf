"""How fast what any scheduler could have reached is found: all of it, against one question to scipy's maximum flow.

    make bench                      or  python -m benchmarks.clairvoyant [--clients 100 1000] [--rounds 1000]

`clairvoyant` answers for every m how many turns rounds with at most m participants can have; `most_turns` for one m,
here the middle of them, by one maximum flow over clients and rounds. Both are measured in one run: these machines are
noisy, so only the ratio means something. The goals are 10 s for 100 clients and two minutes for 1,000,
over 1,000 rounds.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np
from benchmarks.fleet import seconds
from numpy.typing import NDArray

from ehfl import Bernoulli, Fleet, Harvest, Replay
from ehfl.planning import clairvoyant, income_of, turn_batteries

sys.path.append(str(Path(__file__).parents[1] / "tests" / "planning"))  # the plain definition is a test's
from flows import most_turns


def day_and_night(clients: int, rounds: int) -> Replay:
    """Return a harvest of three units by chance in daylight, 24 rounds a day."""
    sun: NDArray[np.float64] = np.clip(np.sin((np.arange(rounds) % 24 - 6) / 12 * np.pi), 0, 1)
    chance = np.random.default_rng(0).random((rounds, clients))
    return Replay(3 * (chance < 0.5 * sun[:, None]).astype(np.int64))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="+", default=[100])
    parser.add_argument("--rounds", type=int, default=1000)
    options = parser.parse_args()
    rounds = options.rounds
    clairvoyant(Fleet(clients=2, harvest=Bernoulli(0.5), initial=1), rounds=3)  # kernels are compiled
    print(f"clairvoyant, {rounds:,} rounds   everything [s]   one flow [s]   ratio")
    for clients in options.clients:
        harvests: dict[str, Harvest] = {"bernoulli": Bernoulli(0.5), "sun": day_and_night(clients, rounds)}
        for name, harvest in harvests.items():
            for capacity in (1, 5, math.inf):
                fleet = Fleet(clients=clients, harvest=harvest, capacity=capacity)
                found = clairvoyant(fleet, rounds)
                ours = seconds(lambda: clairvoyant(fleet, rounds))  # noqa: B023
                turns, middle = turn_batteries(fleet, income_of(fleet, rounds, 0)), int(np.median(found.counts))
                one = seconds(lambda: most_turns(turns, middle))  # noqa: B023
                assert found.turns(middle) == most_turns(turns, middle)
                label = f"{clients:>6,} clients, {name}, battery {capacity:g}"
                print(f"{label:<38} {ours:>8.2f} {one:>12.2f} {one / ours:>10.1f}x", flush=True)


if __name__ == "__main__":
    main()
