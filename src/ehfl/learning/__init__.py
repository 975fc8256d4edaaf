"""Learning: local SGD on any participation.

`train(task, participation, ...)` sends x_t to the participants, which run K SGD steps each; an aggregation computes
x_{t+1} from their updates (paper, section 2). It returns a `History`. A run with a folder survives a kill at any
instant and resumes from its last checkpoint. `tasks/` and `aggregation/` have their members in registries, `TASKS` and
`AGGREGATIONS`; `check_task` and `check_aggregation` test a user class. `load_model` restores a run's model, `evaluate`
and `accuracy_by_class` evaluate it, `task_size` returns its size.

    orders = server.orders(t, turns, eta)       server.py; an order is plain data
    updates = clients.train(orders)             clients.py: in this process (`engine/`), or devices (`ehfl.flower`)
    server.absorb(t, updates)                   the aggregation makes the next model; `memory` is what it remembers

`training` is the loop around these three lines, and `entry` builds it from what the user gives. `engine/reference` is
the plain loop that the engine is tested against.

The public names are in __init__.pyi and imported on first use. torch is imported here and in flower/ alone.
"""

import lazy_loader

from ehfl.extras import check_extra

check_extra("learn")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
