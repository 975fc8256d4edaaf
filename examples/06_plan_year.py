"""
A fleet through a year
======================

12 nodes on the sun want 6 participants in every round of a year. Which hours of which months fall short?
"""

import ehfl

fleet = {
    "clients": 12,
    "round_length": "2 h",
    "cost": "300 J",
    "capacity": "1 Wh",
    "harvest": {"name": "sun", "watts": 0.17, "azimuth_spread": 45, "shading": 0.3},
}
plan = ehfl.plan(fleet=fleet, target=6, schedulers=["myopic", "forecast"], seeds=1, jobs=1)
print(*ehfl.report.verdict_of_plan(plan), sep="\n")

# %%
# The same figures as on the page that ``ehfl plan --out FOLDER`` writes.
figures = {one.name: one.figure for one in ehfl.report.plan_figures(plan)}
hours = figures["hours"]

# %%
year = figures["year"]
