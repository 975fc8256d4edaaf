"""The public names of the room."""

from .check import check_harvest as check_harvest
from .contract import (
    HARVESTS as HARVESTS,
    Harvest as Harvest,
    PowerHarvest as PowerHarvest,
    per_client_parameters as per_client_parameters,
)
from .cost import (
    Device as Device,
    Radio as Radio,
    RoundCost as RoundCost,
    RoundTime as RoundTime,
    device_of as device_of,
    devices as devices,
    radio_of as radio_of,
    radios as radios,
    round_cost as round_cost,
    round_time as round_time,
)
from .fleet import Fleet as Fleet
from .harvests.arrivals import Compound as Compound, Poisson as Poisson
from .harvests.bernoulli import Bernoulli as Bernoulli
from .harvests.markov import Markov as Markov
from .harvests.recorded import Periodic as Periodic, Replay as Replay
from .ledger import EnergyTotals as EnergyTotals, Ledger as Ledger
from .traces.trace import Trace as Trace
from .weather.sun import Sun as Sun
from .weather.wind import Wind as Wind
