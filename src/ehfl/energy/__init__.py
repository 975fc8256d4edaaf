"""Energy: harvests, batteries (eq. 2) and fleets.

Leaves: `Fleet`; `Harvest`, the Protocol of a user harvest, and `check_harvest`, which tests one; the harvests and their
registry `HARVESTS`; `per_client_parameters`, the parameters that may differ by client; `Ledger`, the devices' half of a
round: payments and harvests. Energy is counted in integer quanta, named by `Fleet.unit`; `Fleet.in_joules` converts
joules, and the watts of a `PowerHarvest`, to quanta. `round_cost` computes the joules of a round from a `Device` and a
`Radio`; `device_of` and `radio_of` look them up by name, `devices` and `radios` list them with sources.

A client's level after round t: `Ledger.settle` (ledger) takes the units of round t from the harvest (feed, `weather/`,
`harvests/` or `traces/`) and settles them (battery).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
