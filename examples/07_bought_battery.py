"""
The battery to buy
==================

How large must the batteries of 10 nodes be so that 4 take part in 95 % of the rounds of a year?
"""

import ehfl

fleet = {
    "clients": 10,
    "round_length": "4 h",
    "cost": "300 J",
    "capacity": "0.5 Wh",
    "harvest": {"name": "sun", "watts": 0.1, "shading": 0.3},
}
plan = ehfl.plan(
    fleet=fleet,
    schedulers=["myopic", "greedy"],
    want="4 clients in 95 % of rounds",
    free="battery",
    curves=True,
    seeds=1,
    jobs=1,
)
print(*ehfl.report.verdict_of_plan(plan), sep="\n")

# %%
# The curves show how much each change would buy.
curves = {one.name: one.figure for one in ehfl.report.plan_figures(plan)}["curves"]
