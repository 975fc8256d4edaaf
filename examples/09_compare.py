"""
Compare two schedulers
======================

A comparison trains every arm under the same weather, data and first model, and tests the differences.
"""

from tempfile import mkdtemp

import matplotlib.pyplot as plt

import ehfl

found = ehfl.compare(
    name="few",
    rounds=20,
    seeds=2,
    schedulers=["myopic", "greedy", "round-robin:1"],
    evaluation={"every": 2},
    runs=mkdtemp(),
    jobs=1,
)
print(found)

# %%
# `arm.metric` has a row for each seed and a column for each evaluation.
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for place, arm in enumerate(found.arms):
    color, accuracy = f"C{place}", 100 * arm.metric
    axes.plot(arm.evaluated, accuracy.T, color=color, lw=0.8, alpha=0.6)
    axes.plot(arm.evaluated, accuracy.mean(axis=0), color=color, lw=2.5, label=arm.name)
axes.set(xlabel="rounds", ylabel="accuracy on digits [%]", xticks=range(0, 21, 5))
axes.legend()
