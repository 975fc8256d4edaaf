"""The public names of the room."""

from .bounds.alike import (
    Constants as Constants,
    bound as bound,
    bound_alike as bound_alike,
    largest_step as largest_step,
    leading_order as leading_order,
)
from .bounds.descent import Bound as Bound, Deviation as Deviation, Rounds as Rounds
from .bounds.optimal import (
    RULES as RULES,
    Coverage as Coverage,
    Covering as Covering,
    best_along as best_along,
    best_of_all as best_of_all,
    coverage as coverage,
    pace as pace,
)
from .bounds.theorems import (
    Extremes as Extremes,
    Promise as Promise,
    bound_slowdown as bound_slowdown,
    largest_eta as largest_eta,
    promise as promise,
    theorem1 as theorem1,
    theorem2 as theorem2,
)
from .bounds.unlike import (
    Delays as Delays,
    bound_any as bound_any,
    bound_independent as bound_independent,
    bound_inverse_probability as bound_inverse_probability,
    bound_memory as bound_memory,
    bound_uniform as bound_uniform,
    delays_of as delays_of,
)
from .bounds.windows import Windows as Windows, bound_windows as bound_windows, windows_of as windows_of
from .exact import (
    Batteries as Batteries,
    Turnout as Turnout,
    critical_shortfall as critical_shortfall,
    long_run_turnout as long_run_turnout,
    pooled_turnout as pooled_turnout,
    turnout_law as turnout_law,
)
from .participants import RandomSets as RandomSets, independent_sets as independent_sets
from .step_sizes import (
    STEP_SIZES as STEP_SIZES,
    Constant as Constant,
    Linear as Linear,
    LinearCausal as LinearCausal,
    Nominal as Nominal,
    NominalCausal as NominalCausal,
    PlainFunction as PlainFunction,
    StepSize as StepSize,
    Theorem as Theorem,
    check_causal as check_causal,
    step_size_of as step_size_of,
    step_size_table as step_size_table,
)
from .problems import (
    KnownProblem as KnownProblem,
    Quadratic as Quadratic,
    Wells as Wells,
    noise_samples as noise_samples,
)
from .verification import (
    Verified as Verified,
    known_problems as known_problems,
    verify as verify,
    verify_unlike as verify_unlike,
)
