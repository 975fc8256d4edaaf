"""
A scheduler of your own
=======================

A scheduler is a class with one method, `select`, which is given what the server sees. This one keeps a reserve for bad
weather.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

import ehfl


@dataclass(frozen=True)
class Reserve:
    """All clients that keep `units` after they paid."""

    units: int = 2

    def select(self, view: ehfl.View) -> np.ndarray:
        """Return the indices of the participants."""
        return np.flatnonzero(view.energy >= view.cost + self.units)


ehfl.check_scheduler(Reserve(units=3))

# %%
# A reserve alone smooths nothing: once it is filled, Reserve follows the harvest as Greedy does. A target does.
fleet = ehfl.Fleet(clients=40, harvest=ehfl.Markov(stay_on=0.9, stay_off=0.9), capacity=8)
figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for scheduler in (ehfl.Greedy(), Reserve(units=4), ehfl.Myopic(target=18)):
    played = ehfl.simulate(fleet, scheduler, rounds=200)
    axes.plot(
        played.counts, lw=1.2, label=f"{scheduler}: mean {played.counts.mean():.1f}, sd {played.counts.std():.1f}"
    )
axes.set(xlabel="round", ylabel="participants", ylim=(0, None))
axes.legend()
