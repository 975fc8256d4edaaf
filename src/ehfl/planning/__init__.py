"""Planning: what a fleet can sustain, and what to change about it. Nothing is trained here.

`budget_of` sets harvest against cost, `Outlook` says what a scheduler would make of it, `slowdown` how much slower than
mains power that is. `clairvoyant` is what any scheduler could have reached, `share` how much of it one did: `turns_of`
counts energy in turns, `most_turns` (maximum flow) and `linear_bound` (a linear program) ask the same in plain words.
`smallest` finds the least battery, panel, fleet or round length that does what is wanted. `Plan` holds it all:
`experiment` makes one from a spec, `report` shows it.

May enter: NumPy, SciPy, numba through `kernels`, `ehfl.energy`, `scheduling`, `theory`, `machine` and what they may
import. Leaves: the names below.
"""

from ehfl.planning.budget import Budget, budget_of
from ehfl.planning.calendar import MONTHS, YEAR, Calendar
from ehfl.planning.clairvoyant import Optimum, Share, clairvoyant, share
from ehfl.planning.flow import most_turns
from ehfl.planning.inverse import Answer, Sustained, most_sustained, smallest
from ehfl.planning.linear_program import LinearBound, linear_bound
from ehfl.planning.outlook import Outlook, SeedOutlook
from ehfl.planning.plan import RELIABLE, Changeable, Curve, Plan
from ehfl.planning.seasons import Month, hours_short, months_of, turns_by_site, worst_month
from ehfl.planning.turns import Turns, income_of, turns_of
from ehfl.planning.want import Want
from ehfl.theory.noise_scale import slowdown

__all__ = [
    "MONTHS",
    "RELIABLE",
    "YEAR",
    "Answer",
    "Budget",
    "Calendar",
    "Changeable",
    "Curve",
    "LinearBound",
    "Month",
    "Optimum",
    "Outlook",
    "Plan",
    "SeedOutlook",
    "Share",
    "Sustained",
    "Turns",
    "Want",
    "budget_of",
    "clairvoyant",
    "hours_short",
    "income_of",
    "linear_bound",
    "months_of",
    "most_sustained",
    "most_turns",
    "share",
    "slowdown",
    "smallest",
    "turns_by_site",
    "turns_of",
    "worst_month",
]
