"""
What a battery smooths
======================

The standard deviation of the number of participants against the battery's size, in rounds that a full battery pays for.
"""

import matplotlib.pyplot as plt

import ehfl

sizes = [1, 2, 3, 5, 8, 13, 21]
spread = {
    name: [
        ehfl.simulate(ehfl.Fleet(clients=10, harvest=ehfl.Bernoulli(0.5), capacity=size), name, 1000).counts.std()
        for size in sizes
    ]
    for name in ("myopic", "round-robin", "greedy", "oldest-first")
}

# %%
# Most of what there is to gain comes with the first three rounds. Greedy gains nothing, because it never stores energy.
figure, axes = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for name, values in spread.items():
    axes.plot(sizes, values, "o-", label=name)
axes.set(xlabel="battery [rounds]", ylabel="standard deviation of participants", xscale="log", ylim=(0, None))
axes.set_xticks(sizes, sizes)
axes.minorticks_off()
axes.legend()
