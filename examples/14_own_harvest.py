"""
A harvest of your own
=====================

A harvest is a pure function of seed, round and client. This one has days, nights and clouds.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

import ehfl
from ehfl.randomness import Purpose, words


@dataclass(frozen=True)
class Daylight:
    """The sun behind clouds: `peak` units at noon, none at night; 24 rounds a day."""

    peak: int = 3

    def units(self, seed: int, rounds: range, clients: range) -> np.ndarray:
        """Return the units of each round and client, (n_rounds, n_clients)."""
        sun = np.clip(np.sin((np.asarray(rounds) % 24 - 6) / 12 * np.pi), 0, 1)
        clear = words(seed, Purpose.HARVEST, rounds, clients) / 2**32  # in [0, 1)
        return np.floor((self.peak + 1) * sun[:, None] * clear).astype(int)

    def mean_rates(self, n_clients: int) -> np.ndarray:
        """Return the mean units a round of each client."""
        return np.full(n_clients, self.units(0, range(24), range(1000)).mean())


sun = Daylight()
ehfl.check_harvest(sun, rounds=24 * 30)

# %%
# The batteries of 20 clients through three days under Myopic, and who takes part.
fleet = ehfl.Fleet(clients=20, harvest=sun, capacity=6)
played = ehfl.simulate(fleet, "myopic", rounds=72, record_energy=True)
figure, (levels, counts) = plt.subplots(2, 1, figsize=(8, 4.6), sharex=True, layout="constrained")
image = levels.imshow(np.asarray(played.energy).T, aspect="auto", cmap="viridis")
levels.set(ylabel="client", title="battery [units]")
figure.colorbar(image, ax=levels)
counts.step(range(72), played.counts, where="mid")
counts.set(xlabel="round (hour)", ylabel="participants", ylim=(0, None))
