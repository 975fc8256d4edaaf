"""The public names of the room."""

from .budget import (
    MONTHS as MONTHS,
    SEASONS as SEASONS,
    YEAR as YEAR,
    Budget as Budget,
    Calendar as Calendar,
    budget_of as budget_of,
)
from .optimum import Optimum as Optimum, Share as Share, clairvoyant as clairvoyant, share as share
from .outlook import (
    RELIABLE as RELIABLE,
    Month as Month,
    Outlook as Outlook,
    hours_short as hours_short,
    months_of as months_of,
    seasons_of as seasons_of,
    turns_by_site as turns_by_site,
    worst_month as worst_month,
)
from .plan import Curve as Curve, Designs as Designs, Plan as Plan
from .search import (
    CONFIDENCE as CONFIDENCE,
    PILOT as PILOT,
    PRECISION as PRECISION,
    Answer as Answer,
    Trial as Trial,
    levels_between as levels_between,
    search as search,
    years_needed as years_needed,
)
from .sizes import Prices as Prices, SizeMap as SizeMap
from .steady import steady_start as steady_start
from .turns import TurnBatteries as TurnBatteries, income_of as income_of, turn_batteries as turn_batteries
from .vary import FREE as FREE, Free as Free, free_of as free_of, variable as variable
from .want import Want as Want
