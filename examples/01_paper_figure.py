"""
The paper's figure
==================

Accuracy on CIFAR-10 under five schedulers, from the published rounds in `results/paper`: the mean of four
seeds, and the 95 % interval of Student's t. :doc:`/paper` compares each claim of the paper with these runs.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from scipy.stats import t

import ehfl

rounds = pd.read_csv(Path(ehfl.__file__).parents[2] / "results/paper/rounds.csv").dropna(subset="test_metric")
curves = 100 * rounds.groupby(["arm", "round"])["test_metric"].agg(["mean", "sem"])
seeds = rounds["seed"].nunique()

# %%
# One-by-one round robin has a fifth of the participants and falls behind. The other four cannot be told apart.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for arm in curves.index.unique("arm"):
    curve = curves.loc[arm]
    half = t.ppf(0.975, seeds - 1) * curve["sem"]
    axes.plot(curve.index + 1, curve["mean"], label=arm)
    axes.fill_between(curve.index + 1, curve["mean"] - half, curve["mean"] + half, alpha=0.2)
axes.set(xlabel="round", ylabel="test accuracy [%]", title="CIFAR-10, 10 clients, 5 local steps")
axes.legend()
