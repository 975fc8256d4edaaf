"""
A year of sun
=============

The power of a panel of 2 W in North Carolina, hour by hour: a typical year of measured weather, by pvlib.
"""

import matplotlib.pyplot as plt
import numpy as np

import ehfl

sun = ehfl.Sun(watts=2, weather="typical")
power = sun.watts(seed=0, rounds=range(8760), clients=range(1), round_length=3600)[:, 0].reshape(365, 24)  # [W]

# %%
# Days without sun come in every season. In winter they follow each other, and a battery must bridge the nights between.
figure, (year, days) = plt.subplots(2, 1, figsize=(8, 5), layout="constrained")
image = year.imshow(power.T, aspect="auto", origin="lower", cmap="inferno", extent=(0, 365, 0, 24))
year.set(xlabel="day of the year", ylabel="hour", yticks=[0, 6, 12, 18, 24])
figure.colorbar(image, ax=year, label="power [W]")
days.bar(np.arange(365), power.sum(axis=1), width=1, color="#fd8d3c")
days.set(xlabel="day of the year", ylabel="energy [Wh a day]", xlim=(0, 365))
