"""
Remember who is dark
====================

Where energy follows the labels, the plain mean forgets the digits of shady clients. MIFA remembers each client's last
update.
"""

from tempfile import mkdtemp

import matplotlib.pyplot as plt

import ehfl

found = ehfl.compare(
    name="memory",
    rounds=40,
    seeds=2,
    fleet={"rate": [0.1] * 5 + [0.9] * 5},
    learning={"partition": "shards:2", "order": "by-label"},
    arms=[
        {"label": "mean", "scheduler": "greedy"},
        {"label": "MIFA", "scheduler": "greedy", "aggregation": "mifa"},
    ],
    evaluation={"every": 10},
    runs=mkdtemp(),
    jobs=1,
)
print(found)

# %%
# Accuracy by digit after 40 rounds; low digits are held by the shady clients.
last = found.rounds(per="class").groupby(["arm", "class"])["accuracy"].last().unstack("arm")
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
(100 * last[["mean", "MIFA"]]).plot.bar(ax=axes, rot=0, width=0.8)
axes.set(xlabel="digit", ylabel="accuracy [%]")
axes.legend(loc="lower right")
