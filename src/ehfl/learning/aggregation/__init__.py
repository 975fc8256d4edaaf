"""Aggregations, by name: how the server computes x_{t+1} from the participants' updates.

`contract` defines the interface. `mean`, `weights` and `memories` have directions; `around` has local rules and server
optimisers, which compose with all of them. To add one, write a class and add a line below; the contract tests run over
every line.
"""

from ehfl.learning.aggregation.contract import Aggregation
from ehfl.registry import Registry

_HERE = "ehfl.learning.aggregation"

AGGREGATIONS: Registry[Aggregation] = Registry(
    "aggregation",
    {
        "mean": f"{_HERE}.mean:Mean",
        "weighted": f"{_HERE}.mean:Weighted",
        "inverse-probability": f"{_HERE}.weights:InverseProbability",
        "fedau": f"{_HERE}.weights:FedAu",
        "scheduled": f"{_HERE}.weights:Scheduled",
        "by-data": f"{_HERE}.around:ByData",
        "fednova": f"{_HERE}.weights:FedNova",
        "fedprox": f"{_HERE}.around:FedProx",
        "mifa": f"{_HERE}.memories:Mifa",
        "fedvarp": f"{_HERE}.memories:FedVarp",
        "fedawe": f"{_HERE}.memories:FedAwe",
        "scaffold": f"{_HERE}.around:Scaffold",
        "feddyn": f"{_HERE}.memories:FedDyn",
        "fedavgm": f"{_HERE}.around:FedAvgM",
        "fedadam": f"{_HERE}.around:FedAdam",
        "fedyogi": f"{_HERE}.around:FedYogi",
        "fedadagrad": f"{_HERE}.around:FedAdagrad",
    },
    methods=("init", "apply"),
    other_names={"fedavg": "mean"},
)
