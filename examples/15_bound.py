"""
What theory promises, and what happens
======================================

SGD on problems whose constants are known, under the participation of three schedulers: the bound for the realised
numbers of participants must hold, and the order of the schedulers should be the same.
"""

import matplotlib.pyplot as plt
import numpy as np

import ehfl
from ehfl.theory import verify

fleet = ehfl.Fleet(clients=10, harvest=ehfl.Bernoulli(0.5), capacity=2)
names = ("always-on", "myopic", "greedy", "round-robin:1")
counts = {name: ehfl.simulate(fleet, name, rounds=200, target=5).counts for name in names}
measured = [run() for run in verify(counts, seeds=100)]
results = [one for one in measured if one.rule == "constant" and one.local_steps == 1]
problems = list(dict.fromkeys(one.problem for one in results))

# %%
# Dots: the measured mean of the squared gradient, over 100 seeds. Bars: its bound.
figure, panels = plt.subplots(1, len(problems), figsize=(9, 3.4), squeeze=False, layout="constrained")
for axes, problem in zip(panels[0], problems, strict=True):
    mine = [one for one in results if one.problem == problem]
    places = np.arange(len(mine))
    axes.bar(places, [one.bound for one in mine], 0.6, color="#c6dbef", label="bound")
    axes.errorbar(
        places, [one.measured for one in mine], [one.margin for one in mine], fmt="o", color="#08306b", label="measured"
    )
    axes.set_xticks(places, [one.participation for one in mine], rotation=20)
    axes.set(title=problem)
panels[0][0].set_ylabel("mean squared gradient norm")
panels[0][0].legend()
