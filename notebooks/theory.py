# %% [markdown]
"""
Theory: what the number of participants decides
===============================================

The bounds of the paper see a fleet through one sequence, the numbers of participants n_t. This notebook computes their exact
law, the bound for what happened, and SGD on a problem whose constants are known.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import ehfl
from ehfl.theory import Batteries, Constants, bound_alike, long_run_turnout, verify

# %% [markdown]
# The law of n_t under Bernoulli harvests is a Markov chain's, solved exactly. What a bound needs of it is the mean of 1/n_t:
# by Jensen's inequality it is at least 1 over the mean, so spread costs rounds.

# %%
sizes = np.arange(1, 6)
spread, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for name in ("myopic", "greedy"):
    laws = [long_run_turnout(name, Batteries(clients=10, rate=0.5, capacity=int(size))).law for size in sizes]
    n = np.arange(1, 11)
    axes.plot(sizes, [(law[1:] / n).sum() / law[1:].sum() for law in laws], "o-", label=name)
axes.axhline(1 / 5, color="grey", lw=1, label="1/5, mains power")
axes.set(xlabel="battery [rounds]", ylabel="mean of 1/n_t, rounds with participants")
axes.legend()

# %% [markdown]
# Theorem A bounds the mean squared gradient, weighted by the step sizes, for the n_t that happened. Rounds without
# participants are allowed, which the printed theorem excludes.

# %%
constants = Constants(smoothness=1.0, variance=1.0, gap=1.0)
fleet = ehfl.Fleet(clients=10, harvest=ehfl.Bernoulli(0.5), capacity=2)
counts = {
    name: ehfl.simulate(fleet, name, rounds=200, target=5).counts
    for name in ("always-on", "myopic", "greedy", "round-robin:1")
}
for name, n in counts.items():
    found = bound_alike(n, np.where(n > 0, 0.1, 0.0), local_steps=1, constants=constants)
    print(f"{name:14} bound {found.value:.4f}")

# %% [markdown]
# Is it tight? On quadratics all constants are known. SGD under the same n_t, with the steps that are best for the bound:
# every measurement lies below its bound, and the order of the schedulers is the same.

# %%
measured = [run() for run in verify(counts, seeds=50)]
results = [one for one in measured if (one.rule, one.problem, one.local_steps) == ("constant", "quadratic", 1)]
for one in results:
    assert one.measured - one.margin < one.bound
    print(f"{one.participation:14} measured {one.measured:.4f} ± {one.margin:.4f}, bound {one.bound:.4f}")
