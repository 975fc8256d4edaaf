"""How fast a fleet in joules plays: against the paper's unit queue, in one run, on this machine.

    make bench                      or  python -m benchmarks.joules [--clients 1e6] [--repeats 7]

The unit queue is the paper's: Bernoulli harvest, one capacity and one cost for all. The joule queue has a capacity and
a cost for each client, self-discharge, standby, and levels of thousands of quanta, so that hardly two are equal. Both
play the same scheduler and keep every round's participants. They take turns, and the medians are compared: these
machines are noisy, so only the ratio means something. The goal is a ratio of at most 2. Memory is what the round loop
adds per client without recording, which must not grow with the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import tracemalloc
from collections import deque
from functools import partial

import numpy as np
from benchmarks.fleet import seconds

from ehfl import Bernoulli, Fleet, Play, simulate

ROUNDS = 10


def fleets(clients: int) -> dict[str, Fleet]:
    """Return both, in which as many clients can take part."""
    chance = np.random.default_rng(0)
    return {
        "units": Fleet(clients, Bernoulli(0.5), capacity=8, initial=2),
        "joules": Fleet.in_joules(
            clients, Bernoulli(0.5), capacity=chance.uniform(400, 1200, clients), cost=chance.uniform(90, 110, clients),
            initial=200, round_length=3600, arrival=100, self_discharge=0.05, standby=1e-5,
        ),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="The joule queue against the unit queue.")
    parser.add_argument("--clients", type=float, default=1e6)
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    clients = int(asked.clients)
    both = fleets(clients)
    print(f"{clients:,} clients, medians of {asked.repeats} turns, ns a client and round")
    for scheduler in ("myopic", "greedy"):
        played = [partial(simulate, fleet, scheduler, ROUNDS) for fleet in both.values()]
        turns = [[seconds(task) for task in played] for _ in range(asked.repeats + 1)][1:]
        units, joules = (statistics.median(turn) / ROUNDS / clients * 1e9 for turn in zip(*turns, strict=True))
        ratio = statistics.median(joules / units for units, joules in turns)
        print(f"  {scheduler:<8} units {units:6.2f}   joules {joules:6.2f}   ratio {ratio:5.2f}")
    for rounds in (10, 40):
        tracemalloc.start()
        deque(Play(both["joules"], "greedy", rounds), maxlen=0)
        peak = tracemalloc.get_traced_memory()[1] / clients
        tracemalloc.stop()
        print(f"  memory of {rounds} rounds: {peak:.1f} bytes a client")


if __name__ == "__main__":
    main()
