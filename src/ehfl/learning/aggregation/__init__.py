"""Aggregations: what the server makes of the participants' updates, one file each, and all of them by name.

`contract` says what an aggregation must offer. A new one is a file here and a line below; the contract tests run over
every line.
"""

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
from ehfl.learning.aggregation.fedau import FedAu
from ehfl.learning.aggregation.fedavgm import FedAvgM
from ehfl.learning.aggregation.fedawe import FedAwe
from ehfl.learning.aggregation.fednova import FedNova
from ehfl.learning.aggregation.fedprox import FedProx
from ehfl.learning.aggregation.fedvarp import FedVarp
from ehfl.learning.aggregation.inverse_probability import InverseProbability
from ehfl.learning.aggregation.mean import Mean
from ehfl.learning.aggregation.mifa import Mifa
from ehfl.learning.aggregation.scaffold import Scaffold
from ehfl.learning.aggregation.scheduled import Scheduled
from ehfl.learning.aggregation.weighted import Weighted
from ehfl.registry import Registry

_HERE = "ehfl.learning.aggregation"

AGGREGATIONS: Registry[Aggregation] = Registry(
    "aggregation",
    {
        "mean": f"{_HERE}.mean:Mean",
        "weighted": f"{_HERE}.weighted:Weighted",
        "inverse-probability": f"{_HERE}.inverse_probability:InverseProbability",
        "fedau": f"{_HERE}.fedau:FedAu",
        "scheduled": f"{_HERE}.scheduled:Scheduled",
        "fednova": f"{_HERE}.fednova:FedNova",
        "fedprox": f"{_HERE}.fedprox:FedProx",
        "mifa": f"{_HERE}.mifa:Mifa",
        "fedvarp": f"{_HERE}.fedvarp:FedVarp",
        "fedawe": f"{_HERE}.fedawe:FedAwe",
        "scaffold": f"{_HERE}.scaffold:Scaffold",
        "fedavgm": f"{_HERE}.fedavgm:FedAvgM",
    },
    methods=("init", "apply"),
)

__all__ = [
    "AGGREGATIONS",
    "Aggregation",
    "Assign",
    "Assignment",
    "FedAu",
    "FedAvgM",
    "FedAwe",
    "FedNova",
    "FedProx",
    "FedVarp",
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
