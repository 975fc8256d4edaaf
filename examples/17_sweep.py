"""
Sweep two keys
==============

Every arm at each combination of battery size and harvest rate; one colour scale for all arms.
"""

from tempfile import mkdtemp

import ehfl

found = ehfl.compare(
    name="sizes",
    rounds=30,
    seeds=3,
    schedulers=["myopic", "greedy"],
    learning={"task": "quadratic", "step_size": 0.1},
    sweep={"fleet.capacity": [1, 2, 5, 10], "fleet.rate": [0.1, 0.2, 0.5]},
    runs=mkdtemp(),
    jobs=1,
)
for sentence in found.verdict:
    print(sentence)

# %%
# Any column of `found.frame()` can be drawn; the energy that did not fit under the batteries' capacity:
figure = ehfl.report.sweep_figure(found, "waste")
