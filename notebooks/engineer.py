# %% [markdown]
"""
Engineer: which panel and which battery?
========================================

Twelve nodes on a field are to train a small model together. What does a round cost, what does the sun give, how many nodes
can be counted on in December, and what should be bought?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import ehfl
from ehfl.energy import device_of, radio_of, round_cost
from ehfl.planning import budget_of

# %% [markdown]
# First the cost of a round: five local steps on batches of 50, on a Cortex-M0+ with a Wi-Fi module. Profiles come from
# published measurements; replace them by your own as soon as you have measured.

# %%
cost = round_cost(
    device_of("cortex-m0plus"), radio_of("esp32-wifi-mqtt"), model_bytes=24_360, samples=250, flop_per_sample=127_488
)
for part, joules in cost.parts():
    print(f"{part:10} {joules:7.3f} J")
print(f"{'total':10} {cost.total:7.3f} J")

# %% [markdown]
# Then the harvest: panels of 6 mW, the worst of which lost three tenths to shade.

# %%
sun = ehfl.Sun(watts=0.006, site="north-carolina", shading=0.3)
power = sun.watts(seed=0, rounds=range(8760), clients=range(12), round_length=3600)  # (n_rounds, n_clients) [W]
by_month, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.bar(np.arange(12), power.reshape(12, 730, 12).mean(axis=(1, 2)) * 86_400, color="#fd8d3c")
axes.set(xlabel="twelfth of the year", ylabel="harvest of a node [J a day]")

# %% [markdown]
# The fleet in joules. Energy is counted in whole quanta, so that it balances exactly.

# %%
fleet = ehfl.Fleet.in_joules(
    clients=12,
    harvest=sun,
    round_length=4 * 3600,
    cost=cost.total,
    capacity=60,
    efficiency=0.9,
)
budget = budget_of(fleet, rounds=2190)
print(f"the mean harvest pays for {budget.sustainable:.1f} of 12 nodes a round")

# %% [markdown]
# The mean is not what can be counted on. A year under three schedulers, with 8 nodes wanted:

# %%
nodes = {
    "clients": 12,
    "round_length": "4 h",
    "cost": f"{cost.total:.3f} J",
    "capacity": "60 J",
    "efficiency": 0.9,
    "harvest": {"name": "sun", "watts": 0.006, "shading": 0.3},
}
plan = ehfl.plan(fleet=nodes, target=8, schedulers=["myopic", "greedy", "forecast"], seeds=1, jobs=1)
print(*ehfl.report.verdict_of_plan(plan), sep="\n")

# %%
months = {one.name: one.figure for one in ehfl.report.plan_figures(plan)}["year"]

# %% [markdown]
# And the purchase: the smallest battery with which 6 nodes take part in 95 % of the rounds. The search plays the same weather
# at every size. Repeat it with more seeds, and with a file of real years, before you order.

# %%
bought = ehfl.plan(
    fleet=nodes, schedulers=["myopic"], want="6 clients in 95 % of rounds", free="battery", seeds=1, jobs=1
)
answer = bought.answer
print(f"{answer.value:.0f} J" if answer.found else "no battery does it: buy panels", f"({answer.share:.1%} of rounds)")
