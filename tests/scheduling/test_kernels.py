"""Every kernel is met with one set of argument types: in the cache, processes can mix up variants of a kernel."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import numpy as np
from ehfl import compiled
from ehfl.energy import Bernoulli, Fleet, Ledger, Replay, kernels as energy
from ehfl.scheduling import SCHEDULERS, Myopic, kernels as scheduling, simulate

class Wide:
    def units(self, seed, rounds, clients):
        return np.full((len(rounds), len(clients)), 2)
    def mean_rates(self, n_clients):
        return np.full(n_clients, 2.0)

class Backwards:
    def select(self, view):
        return np.flatnonzero(view.energy >= view.cost)[::-1]

n = 9000
rates, each = np.linspace(0, 1, n), np.arange(n) % 3 + 1
schedulers = [SCHEDULERS.make(name) for name in SCHEDULERS.members]
for harvest in (Bernoulli(0.5), Bernoulli(rates), Replay(np.ones((5, n), dtype=np.int64)), Wide()):
    for values in ({"capacity": np.int32(5), "initial": np.int16(1), "cost": np.int64(1)},
                   {"capacity": each + 0.0, "initial": each.astype(np.uint8), "cost": each.tolist()}):
        fleet = Fleet(n, harvest, **values)
        for scheduler in [*schedulers, Myopic(np.int32(4500)), Backwards()]:
            simulate(fleet, scheduler, rounds=5, seed=np.uint32(7))
        Ledger(fleet, 5, 7, clients=range(4096, 9000)).settle(0, np.arange(0))
for module in (compiled, energy, scheduling):
    for name, kernel in vars(module).items():
        if hasattr(kernel, "signatures") and not name.startswith("_") and len(kernel.signatures) > 1:
            print(module.__name__, name, kernel.signatures)
"""


def test_no_kernel_is_compiled_for_two_sets_of_types() -> None:
    out = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)

    assert out.stdout == ""
