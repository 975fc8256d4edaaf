"""
Accuracy by class and aggregation
=================================

Twelve arms on 20 clients whose energy follows their labels, ten seeds: the published evaluations in `results/unequal`.
:doc:`/unequal` discusses them.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ehfl

every = pd.read_csv(Path(ehfl.__file__).parents[2] / "results/unequal/evaluations.csv")
last = every[every["rounds"] == every["rounds"].max()]
shares = last.groupby("arm", sort=False)["by_class"].agg(
    lambda texts: np.mean([np.fromstring(text, sep=" ") for text in texts], axis=0)
)

# %%
# Low digits belong to clients that harvest little. The last column is the mean.
table = 100 * np.stack(shares.to_list())
table = np.column_stack([table, table.mean(axis=1)])
figure, axes = plt.subplots(figsize=(8, 4.6), layout="constrained")
image = axes.imshow(table, cmap="RdYlGn", vmin=50, vmax=100, aspect="auto")
for (row, column), value in np.ndenumerate(table):
    axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=8)
axes.set_xticks(range(11), [*map(str, range(10)), "mean"])
axes.set_yticks(range(len(shares)), shares.index)
figure.colorbar(image, label="accuracy [%]")
