"""Aggregations: how the server computes x_{t+1} from the participants' updates; one file each, registered by name.

`contract` defines the interface. To add one, write a file here and add a line below; the contract tests run over every
line.
"""

from ehfl.learning.aggregation.around import ByData, FedAdagrad, FedAdam, FedAvgM, FedProx, FedYogi, Scaffold
from ehfl.learning.aggregation.contract import (
    Aggregation,
    Assign,
    Assignment,
    State,
    Update,
    assignment_of,
    informed,
    share_of,
    traffic_of,
    wants_probabilities,
    wants_weights,
)
from ehfl.learning.aggregation.mean import Mean, Weighted
from ehfl.learning.aggregation.memories import FedAwe, FedDyn, FedVarp, Mifa
from ehfl.learning.aggregation.weights import FedAu, FedNova, InverseProbability, Scheduled
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

__all__ = [
    "AGGREGATIONS",
    "Aggregation",
    "Assign",
    "Assignment",
    "ByData",
    "FedAdagrad",
    "FedAdam",
    "FedAu",
    "FedAvgM",
    "FedAwe",
    "FedDyn",
    "FedNova",
    "FedProx",
    "FedVarp",
    "FedYogi",
    "InverseProbability",
    "Mean",
    "Mifa",
    "Scaffold",
    "Scheduled",
    "State",
    "Update",
    "Weighted",
    "assignment_of",
    "informed",
    "share_of",
    "traffic_of",
    "wants_probabilities",
    "wants_weights",
]
