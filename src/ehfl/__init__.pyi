"""The public names: each is imported from the room below when it is first used (`ehfl/__init__.py`)."""

from . import (
    analysis as analysis,
    energy as energy,
    experiment as experiment,
    learning as learning,
    planning as planning,
    report as report,
    scheduling as scheduling,
    theory as theory,
)
from .analysis import Comparison as Comparison, read as read
from .energy import (
    HARVESTS as HARVESTS,
    Bernoulli as Bernoulli,
    Compound as Compound,
    EnergyTotals as EnergyTotals,
    Fleet as Fleet,
    Harvest as Harvest,
    Ledger as Ledger,
    Markov as Markov,
    Periodic as Periodic,
    Poisson as Poisson,
    PowerHarvest as PowerHarvest,
    Replay as Replay,
    Sun as Sun,
    Trace as Trace,
    Wind as Wind,
    check_harvest as check_harvest,
)
from .experiment import compare as compare
from .experiment.audit import audit as audit
from .experiment.plan import plan as plan
from .learning import (
    AGGREGATIONS as AGGREGATIONS,
    TASKS as TASKS,
    check_aggregation as check_aggregation,
    check_task as check_task,
    evaluate as evaluate,
    load_model as load_model,
    load_task as load_task,
    train as train,
)
from .partition import PARTITIONS as PARTITIONS, check_partition as check_partition
from .report import write_report as write_report
from .runs import STOP as STOP, History as History, Metric as Metric
from .scheduling import (
    SCHEDULERS as SCHEDULERS,
    AdaptiveSteps as AdaptiveSteps,
    AlwaysOn as AlwaysOn,
    Chances as Chances,
    Decider as Decider,
    EnergyCycles as EnergyCycles,
    F3ast as F3ast,
    Forecast as Forecast,
    Greedy as Greedy,
    Lockstep as Lockstep,
    Lyapunov as Lyapunov,
    MostRoundsLeft as MostRoundsLeft,
    Myopic as Myopic,
    OldestFirst as OldestFirst,
    Participation as Participation,
    Play as Play,
    PowerOfChoice as PowerOfChoice,
    Round as Round,
    RoundRobin as RoundRobin,
    Scheduler as Scheduler,
    SchedulerError as SchedulerError,
    Summary as Summary,
    Threshold as Threshold,
    UniformRandom as UniformRandom,
    View as View,
    chances as chances,
    check_scheduler as check_scheduler,
    observed_chances as observed_chances,
    simulate as simulate,
)
from .theory import STEP_SIZES as STEP_SIZES
from .validation import InvalidValue as InvalidValue

__version__: str
