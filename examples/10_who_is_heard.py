"""
Who is heard
============

Sunny clients take part more often, so their labels weigh more in a plain mean. An audit shows it before anything is
trained.
"""

import matplotlib.pyplot as plt
import numpy as np

import ehfl

audits = ehfl.audit(
    fleet={"clients": 10, "rate": {"low": 0.1, "high": 0.9}, "capacity": 1},
    learning={"partition": "shards:2", "order": "by-label"},
    schedulers=["greedy", "myopic", "f3ast"],
    rounds=200,
    with_floor=False,
)
print(audits)

# %%
# 1 is what a client would weigh if all weighed alike.
figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for place, audit in enumerate(audits):
    axes.bar(np.arange(10) + 0.27 * (place - 1), 10 * audit.chances.weights, 0.25, label=audit.arm)
axes.axhline(1, color="grey", lw=1)
axes.set(xlabel="client, from shady to sunny", ylabel="weight in the mean x N", xticks=range(10))
axes.legend()
