"""Theory: step sizes as functions of the counts n_t, and problems whose constants are known.

May enter: NumPy and `ehfl.validation`, nothing else. Leaves: `step_sizes` (theorem, nominal, linear, constant and the
causal twins, by name through `make_step_size`) and `problems` (`Quadratic`, `Wells`), which learning wraps as tasks.
"""

from ehfl.theory.problems import Problem, Quadratic, Wells, noise_samples
from ehfl.theory.step_sizes import STEP_SIZES, StepSize, make_step_size

__all__ = ["STEP_SIZES", "Problem", "Quadratic", "StepSize", "Wells", "make_step_size", "noise_samples"]
