"""Energy: where it comes from (harvests), where it is kept (the battery of eq. 2), who has it (the fleet).

May enter: NumPy, numba through `kernels`, pvlib and windpowerlib where sun and wind are asked for, pyarrow for traces,
`ehfl.arrays`, `files`, `machine`, `randomness`, `registry`. Leaves: `Fleet`, `Harvest` (the Protocol to implement for a
harvest of your own), `check_harvest`, which tries it, `Bernoulli`, `Markov`, `Poisson`, `Compound`, `Periodic`,
`Replay`, `Sun`, `Trace`, `Wind`, `HARVESTS` (harvests by name), `per_client_parameters`, which of theirs are one value
a client, and `Ledger`, the devices' half of a round: who pays, who harvests. Energy is counted in whole quanta, which a
fleet gives a name (`Fleet.unit`); `fleet_in_joules` makes quanta of joules, and of what a `PowerHarvest` brings in
watts. What a round costs in joules: `round_cost` of a `Device` and a `Radio`, which `device_of` and `radio_of` know by
name, `devices` and `radios` with sources.
"""

from ehfl.energy.bernoulli import Bernoulli
from ehfl.energy.check import check_harvest
from ehfl.energy.compound import Compound
from ehfl.energy.cost import Device, Radio, RoundCost, round_cost
from ehfl.energy.fleet import Fleet
from ehfl.energy.harvest import HARVESTS, Harvest, per_client_parameters
from ehfl.energy.joules import fleet_in_joules
from ehfl.energy.ledger import EnergyTotals, Ledger
from ehfl.energy.markov import Markov
from ehfl.energy.periodic import Periodic
from ehfl.energy.poisson import Poisson
from ehfl.energy.power import PowerHarvest
from ehfl.energy.profiles import device_of, devices, radio_of, radios
from ehfl.energy.replay import Replay
from ehfl.energy.sun import Sun
from ehfl.energy.trace import Trace
from ehfl.energy.wind import Wind

__all__ = [
    "HARVESTS",
    "Bernoulli",
    "Compound",
    "Device",
    "EnergyTotals",
    "Fleet",
    "Harvest",
    "Ledger",
    "Markov",
    "Periodic",
    "Poisson",
    "PowerHarvest",
    "Radio",
    "Replay",
    "RoundCost",
    "Sun",
    "Trace",
    "Wind",
    "check_harvest",
    "device_of",
    "devices",
    "fleet_in_joules",
    "per_client_parameters",
    "radio_of",
    "radios",
    "round_cost",
]
