"""Energy: where it comes from (harvest processes), where it is kept (the battery of eq. 2), who has it (the fleet).

May enter: NumPy, numba through `kernels`, `ehfl.randomness`. Leaves: `Fleet`, `Harvest` (the Protocol to implement for
a process of your own), `Bernoulli`, `Replay`, and `battery.settle` for the round loop. Energy is counted in whole
units; a process in joules will enter through the same Protocol and the same queue.
"""

from ehfl.energy.bernoulli import Bernoulli
from ehfl.energy.fleet import Fleet
from ehfl.energy.harvest import Harvest
from ehfl.energy.replay import Replay

__all__ = ["Bernoulli", "Fleet", "Harvest", "Replay"]
