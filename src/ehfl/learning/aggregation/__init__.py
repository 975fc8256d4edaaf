"""Aggregations: what the server makes of the participants' updates, one file each, and all of them by name.

`contract` says what an aggregation must offer. A new one is a file here and a line below; the contract tests run over
every line.
"""

from ehfl.learning.aggregation.contract import Aggregation, State, Update, share_of
from ehfl.learning.aggregation.mean import Mean
from ehfl.learning.aggregation.weighted import Weighted
from ehfl.registry import Registry

AGGREGATIONS: Registry[Aggregation] = Registry(
    "aggregation",
    {
        "mean": "ehfl.learning.aggregation.mean:Mean",
        "weighted": "ehfl.learning.aggregation.weighted:Weighted",
    },
    methods=("init", "apply"),
)

__all__ = ["AGGREGATIONS", "Aggregation", "Mean", "State", "Update", "Weighted", "share_of"]
