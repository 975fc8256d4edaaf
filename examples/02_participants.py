"""
How many take part
==================

The paper argues about the number of participants of a round, n_t. For Bernoulli harvests ehfl computes its exact law;
here it stands beside 10,000 simulated rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

import ehfl
from ehfl.theory import Batteries, long_run_turnout

fleet = ehfl.Fleet(clients=10, harvest=ehfl.Bernoulli(rate=0.5), capacity=2)
batteries = Batteries(clients=10, rate=0.5, capacity=2)

# %%
# Greedy spends every unit in the round after its harvest, so n_t spreads. Myopic keeps what it does not need, and has
# five participants nearly always.
figure, panels = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for axes, name in zip(panels, ("greedy", "round-robin", "myopic"), strict=True):
    counts = ehfl.simulate(fleet, name, rounds=10_000).counts
    law = long_run_turnout(name, batteries).law
    axes.bar(range(11), np.bincount(counts, minlength=11) / counts.size, color="#9ecae1", label="simulated")
    axes.plot(range(11), law, "o", color="#08306b", label="exact law")
    axes.set(title=f"{name}, sd {counts.std():.2f}", xlabel="participants")
panels[0].set_ylabel("share of rounds")
panels[0].legend()
