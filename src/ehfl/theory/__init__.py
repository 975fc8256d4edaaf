"""Theory: the paper's convergence bounds, corrected, for the actual participation.

participants   the participation as input of the bounds: counts, sets, probabilities; chi^2 and the mean weights q_i
bounds/        `descent` is the lemma that bounds are instances of: `alike` for data alike, `unlike` for data that
               differ, `windows` for clients that take turns; `theorems` has the paper's two as printed and as
               proven, `optimal` the step sizes that make a bound smallest
exact          small fleets, whose n_t has a known law: as a Markov chain, and in the limit
problems       losses with known constants, and SGD on them, many seeds at once; `verification` compares it with bounds
step_sizes     the step-size rules by name (`STEP_SIZES`), and rules from user functions
noise_scale    the value of a round as a function of its participants

Derivations: docs/theory.md.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
