"""Planning: what a fleet can sustain, and what to change about it. Nothing is trained here.

budget   harvest and cost, independent of the scheduler; the month and hour of a round
outlook  the performance of a scheduler over several seeds: statistics, also by month, hour and site
search   the smallest value that meets a requirement in a share of the years, with its interval
sizes    battery and panel together, and their prices
steady   batteries as they are after a year of operation
want     what is asked: participants in a share of the rounds of a year, a month or the night
optimum  the optimum with perfect foresight (`turns` converts energy to turns, `kernels` assign them)
plan     `Plan`: all of these results, `Designs`: several of them; `experiment` makes one, `report` shows it
vary     the same fleet with another battery, panel, number of clients or round length
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
