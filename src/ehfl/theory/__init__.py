"""Theory: what the paper's theorems promise, corrected, for the participation that really happened.

`counts` checks n_t. `descent` is the lemma of one round that bounds are instances of: `bounds` for data alike,
`unlike` for data that differ, with `chances` for participants that come by chance, `windows` for participants that
take turns, `inverse_probability` for that aggregation; `memory` has a theorem of its own. `theorems` holds the paper's
two as printed and as proven, `optimal` the step sizes that make a bound smallest, `promise` all bounds of a
participation side by side, `coverage` what the theorem that covers an arm makes of its steps, `noise_scale` what a
round is worth by how many take part. `step_sizes` are the rules of the experiment by name (`STEP_SIZES`), `given`
reads what a user gives as one. `problems` have constants that are known, `runs` is SGD on them, `verification` and
`verification_unlike` set what is measured beside the bounds. Of small fleets n_t is known exactly: `batteries` says
what they are, `turnout` has the law of n_t, in which `longest_queues` is Myopic's chain and `markov` what chains have
in common, `critical_load` what no scheduler can beat. Derivations: docs/theory.md.

May enter: NumPy, SciPy, `ehfl.arrays`, `ehfl.validation`, `ehfl.registry`, `ehfl.randomness`, `ehfl.machine`. Leaves:
the names below.
"""

from ehfl.theory.batteries import Batteries, Turnout
from ehfl.theory.bounds import Constants, bound, largest_step, leading_order, realised
from ehfl.theory.chances import RandomSets, independent_sets
from ehfl.theory.coverage import Coverage, Covering, coverage
from ehfl.theory.critical_load import critical_shortfall, pooled_turnout
from ehfl.theory.descent import Bound, Deviation, Rounds
from ehfl.theory.given import PlainFunction, check_causal, step_size_of, step_size_table
from ehfl.theory.inverse_probability import bound_inverse_probability
from ehfl.theory.memory import Delays, bound_memory, delays_of
from ehfl.theory.optimal import RULES, best_along, best_of_all, pace
from ehfl.theory.problems import KnownProblem, Problem, Quadratic, Wells, noise_samples
from ehfl.theory.promise import Promise, promise, slowdown
from ehfl.theory.step_sizes import (
    STEP_SIZES,
    Constant,
    Linear,
    LinearCausal,
    Nominal,
    NominalCausal,
    StepSize,
    Theorem,
)
from ehfl.theory.theorems import Extremes, largest_eta, theorem1, theorem2
from ehfl.theory.turnout import long_run_turnout, turnout_law
from ehfl.theory.unlike import bound_any, bound_independent, bound_uniform
from ehfl.theory.verification import Verified, known_problems, verify
from ehfl.theory.verification_unlike import verify_unlike
from ehfl.theory.windows import Windows, bound_windows, windows_of

__all__ = [
    "RULES",
    "STEP_SIZES",
    "Batteries",
    "Bound",
    "Constant",
    "Constants",
    "Coverage",
    "Covering",
    "Delays",
    "Deviation",
    "Extremes",
    "KnownProblem",
    "Linear",
    "LinearCausal",
    "Nominal",
    "NominalCausal",
    "PlainFunction",
    "Problem",
    "Promise",
    "Quadratic",
    "RandomSets",
    "Rounds",
    "StepSize",
    "Theorem",
    "Turnout",
    "Verified",
    "Wells",
    "Windows",
    "best_along",
    "best_of_all",
    "bound",
    "bound_any",
    "bound_independent",
    "bound_inverse_probability",
    "bound_memory",
    "bound_uniform",
    "bound_windows",
    "check_causal",
    "coverage",
    "critical_shortfall",
    "delays_of",
    "independent_sets",
    "known_problems",
    "largest_eta",
    "largest_step",
    "leading_order",
    "long_run_turnout",
    "noise_samples",
    "pace",
    "pooled_turnout",
    "promise",
    "realised",
    "slowdown",
    "step_size_of",
    "step_size_table",
    "theorem1",
    "theorem2",
    "turnout_law",
    "verify",
    "verify_unlike",
    "windows_of",
]
