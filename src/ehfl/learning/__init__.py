"""Learning: local SGD on any participation.

`train(task, participation, ...)` sends x_t to the participants, which run K SGD steps each; an aggregation computes
x_{t+1} from their updates (paper, section 2). It returns a `History`. A run with a folder survives a kill at any
instant and resumes from its last checkpoint. Tasks (`tasks/`) and aggregations (`aggregation/`) have a file each and a
registry: `TASKS`, `AGGREGATIONS`; `check_task` and `check_aggregation` test a user class. `load_model` restores a run's
model, `evaluate` and `accuracy_by_class` evaluate it, `task_size` returns its size. In each round the `server` makes
`orders`, clients execute them, and the server aggregates their updates. Clients are in this process (`in_process`: an
`engine` with `workers`, or a stack of small models, `stacked`) or on devices (`ehfl.flower`). `reference` is the plain
loop that they are tested against.

The public names are in __init__.pyi and imported on first use. torch is imported here and in flower/ alone.
"""

import lazy_loader

from ehfl.extras import check_extra

check_extra("learn")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
