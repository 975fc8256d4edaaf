"""Scheduling: the selection of participants in each round.

contract, view, past  the interface of a scheduler, and its inputs
rounds                a round's two halves: `Decider` (the server selects) and `energy.Ledger` (devices settle); `Play`
simulation            `simulate`, and the rounds for learning: known in advance, or decided in lockstep with training
participation         the participants and energy of all rounds, their statistics, save and load
probability           each client's probability to take part, and its weight in a mean
check                 `check_scheduler`, for user classes
kernels               the longest queues of large fleets, compiled; `view` has them in NumPy
schedulers/           the classes, and `SCHEDULERS` by name
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
