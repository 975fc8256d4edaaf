"""The public names of the room."""

from .check import check_scheduler as check_scheduler
from .contract import (
    Scheduler as Scheduler,
    SchedulerError as SchedulerError,
    brings_steps as brings_steps,
    brings_weights as brings_weights,
    wants_losses as wants_losses,
)
from .participation import Participation as Participation, Summary as Summary, jain as jain
from .probability import (
    Chances as Chances,
    chances as chances,
    exact_chances as exact_chances,
    observed_chances as observed_chances,
)
from .rounds import Decider as Decider, Play as Play, Round as Round, check_target as check_target
from .schedulers import SCHEDULERS as SCHEDULERS
from .schedulers.fair import (
    EnergyCycles as EnergyCycles,
    F3ast as F3ast,
    OldestFirst as OldestFirst,
    PowerOfChoice as PowerOfChoice,
)
from .schedulers.paper import (
    AlwaysOn as AlwaysOn,
    Greedy as Greedy,
    Myopic as Myopic,
    RoundRobin as RoundRobin,
    UniformRandom as UniformRandom,
)
from .schedulers.queues import (
    AdaptiveSteps as AdaptiveSteps,
    Forecast as Forecast,
    Lyapunov as Lyapunov,
    MostRoundsLeft as MostRoundsLeft,
    Threshold as Threshold,
)
from .simulation import Course as Course, Lockstep as Lockstep, simulate as simulate
from .view import View as View
