"""Theory: what the paper's theorems promise, corrected, for the participation that really happened.

`bounds` holds the realised bound, `theorems` the paper's two as printed and as proven, `optimal` the step sizes that
make the bound smallest, `step_sizes` the rules of the experiment, `problems` functions whose constants are known,
`promise` puts all bounds of a participation side by side,
`verification` sets measurement beside bound. Derivations: docs/theory.md.

May enter: NumPy, SciPy, `ehfl.validation`, `ehfl.randomness`. Leaves: the names below.
"""

from ehfl.theory.bounds import Constants, bound, largest_step, leading_order, leading_terms
from ehfl.theory.optimal import RULES, best_along, best_of_all, pace
from ehfl.theory.problems import KnownProblem, Problem, Quadratic, Wells, noise_samples
from ehfl.theory.promise import Promise, promise, slowdown
from ehfl.theory.step_sizes import STEP_SIZES, StepSize, make_step_size
from ehfl.theory.theorems import Extremes, largest_eta, theorem1, theorem2
from ehfl.theory.verification import Verified, known_problems, verify

__all__ = [
    "RULES",
    "STEP_SIZES",
    "Constants",
    "Extremes",
    "KnownProblem",
    "Problem",
    "Promise",
    "Quadratic",
    "StepSize",
    "Verified",
    "Wells",
    "best_along",
    "best_of_all",
    "bound",
    "known_problems",
    "largest_eta",
    "largest_step",
    "leading_order",
    "leading_terms",
    "make_step_size",
    "noise_samples",
    "pace",
    "promise",
    "slowdown",
    "theorem1",
    "theorem2",
    "verify",
]
