"""
Perfect foresight
=================

Was it the scheduler or the weather? The most even participation that could have been reached with all harvests known in
advance, beside what two schedulers reached.
"""

import matplotlib.pyplot as plt

import ehfl
from ehfl.planning import clairvoyant, share

fleet = ehfl.Fleet(clients=50, harvest=ehfl.Markov(stay_on=0.97, stay_off=0.97), capacity=5)
best = clairvoyant(fleet, rounds=100)

# %%
# Sun and darkness last thirty rounds each on average. With foresight the leanest round would have 21 participants; both
# schedulers fall to 14, because they spend early what would be needed later.
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
for name in ("greedy", "myopic"):
    played = ehfl.simulate(fleet, name, rounds=100)
    reached = share(played, best)
    axes.plot(
        played.counts, lw=1, label=f"{name}: least {played.counts[1:].min()}, {reached.mean_sqrt:.1%} of the mean sqrt"
    )
axes.plot(best.counts, color="black", lw=2, label=f"perfect foresight: least {best.least}")
axes.set(xlabel="round", ylabel="participants", ylim=(0, None))
axes.legend()
