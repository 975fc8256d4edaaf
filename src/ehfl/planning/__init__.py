"""Planning: what a fleet can sustain, and what to change about it. Nothing is trained here.

`budget_of` sets harvest against cost, `Outlook` says what a scheduler would make of it, `slowdown` how much slower than
mains power that is, `smallest` finds the least battery, panel, fleet or round length that does what is wanted. `Plan`
holds it all: `experiment` makes one from a spec, `report` shows it.

May enter: NumPy, SciPy, `ehfl.energy`, `scheduling` and what they may import. Leaves: the names below.
"""

from ehfl.planning.budget import Budget, budget_of
from ehfl.planning.calendar import MONTHS, YEAR, Calendar
from ehfl.planning.inverse import Answer, Sustained, most_sustained, smallest
from ehfl.planning.outlook import Outlook, slowdown
from ehfl.planning.plan import Changeable, Curve, Plan
from ehfl.planning.seasons import Month, hours_short, months_of, turns_by_site, worst_month
from ehfl.planning.want import Want

__all__ = [
    "MONTHS",
    "YEAR",
    "Answer",
    "Budget",
    "Calendar",
    "Changeable",
    "Curve",
    "Month",
    "Outlook",
    "Plan",
    "Sustained",
    "Want",
    "budget_of",
    "hours_short",
    "months_of",
    "most_sustained",
    "slowdown",
    "smallest",
    "turns_by_site",
    "worst_month",
]
