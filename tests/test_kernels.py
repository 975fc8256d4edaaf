"""Every kernel is met with one set of argument types: in the cache, processes can mix up variants of a kernel."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import numpy as np
import ehfl
from ehfl import compiled
from ehfl.energy import kernels as energy
from ehfl.scheduling import kernels as scheduling

class Wide:
    def units(self, seed, rounds, clients):
        return np.full((len(rounds), len(clients)), 2)
    def mean_rates(self, n_clients):
        return np.full(n_clients, 2.0)

class Backwards:
    def select(self, view):
        return np.flatnonzero(view.energy >= view.cost)[::-1]

n = 9000
rates = np.linspace(0, 1, n)
for harvest in (ehfl.Bernoulli(0.5), ehfl.Bernoulli(rates), ehfl.Replay(np.ones((5, n), dtype=np.int64)), Wide()):
    fleet = ehfl.Fleet(n, harvest, capacity=np.int32(5), initial=np.int16(1), cost=np.int64(1))
    policies = [ehfl.make_policy(name) for name in ("myopic", "greedy", "round-robin", "uniform-random", "always-on")]
    for policy in [*policies, ehfl.Myopic(np.int32(4500)), Backwards()]:
        ehfl.simulate(fleet, policy, rounds=5, seed=np.uint32(7))
for module in (compiled, energy, scheduling):
    for name, kernel in vars(module).items():
        if hasattr(kernel, "signatures") and not name.startswith("_") and len(kernel.signatures) > 1:
            print(module.__name__, name, kernel.signatures)
"""


def test_no_kernel_is_compiled_for_two_sets_of_types() -> None:
    out = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)

    assert out.stdout == ""
