"""The public names of the room."""

from .comparison import Comparison as Comparison, Goal as Goal, compare as compare
from .load import read as read, unlisted_runs as unlisted_runs
from .rows import Row as Row
from .statistics import (
    Difference as Difference,
    Estimate as Estimate,
    difference as difference,
    estimate as estimate,
)
from .timing import rounds_to as rounds_to
from .trials import Arm as Arm, Missing as Missing, Trial as Trial
