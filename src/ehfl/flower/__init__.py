"""Flower: the same scheduler, aggregation and batteries on devices that come and go (the paper's figure 1).

Adapters only: who is chosen, how models are averaged, what a round costs is computed by the rooms above.

exchange     one question to many nodes, answered or not by a deadline; `heartbeats` says who is worth waiting for,
             `pulling` fetches replies so that a slow upload delays nobody else
account      a node's own energy, kept in an `account_file` on its disk: settled, and paid from, once a round
meters       energy that is read from the device; `traces`: a harvest of the node's own
deployment   a SuperLink and SuperNodes on loopback; their programs run as `processes`, each under a `guard`
control      what Flower's own command line is asked
project      a Flower App project that plays a spec; `app_texts` is what its files say

May enter: Flower and psutil (extra `flower`), NumPy, `ehfl.experiment` and below. Leaves: the names below, each
imported when it is first used, so that neither flwr nor torch is loaded before it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehfl.lazy import lazy_names

if TYPE_CHECKING:
    from ehfl.flower.control import RunState
    from ehfl.flower.deployment import Deployment
    from ehfl.flower.exchange import Exchange, Reply
    from ehfl.flower.project import write_app

__all__ = ["Deployment", "Exchange", "Reply", "RunState", "write_app"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "control": {"RunState"},
        "deployment": {"Deployment"},
        "exchange": {"Exchange", "Reply"},
        "project": {"write_app"},
    },
)
