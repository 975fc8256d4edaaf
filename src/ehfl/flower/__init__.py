"""Flower: the same scheduler, aggregation and batteries on devices that come and go (the paper's figure 1).

Adapters only: who is chosen, how models are averaged, what a round costs is computed by the rooms above.

client       the node's half of a round, as Flower's ClientApp; `node_config` is what the node is told of itself,
             `bundle` the spec in its app, `node_setup` makes what it needs of that, `time_limit` ends work that hangs
server       a run whose clients are devices, as Flower's ServerApp: `nodes` asks, `screening` refuses what cannot be,
             `devices` chooses and sends the model, `participation` is what came of all rounds
specs        a spec as it goes to Flower
simulation   all of it in Flower's simulation
messages     what server and nodes tell each other
exchange     one question to many nodes, answered or not by a deadline; `heartbeats` says who is worth waiting for,
             `pulling` fetches replies so that a slow upload delays nobody else
account      a node's own energy, kept in an `account_file` on its disk: settled, and paid from, once a round
meters       energy that is read from the device; `traces`: a harvest of the node's own
deployment   a SuperLink and SuperNodes on loopback; their programs run as `processes`, each under a `guard`
flwr_cli     what Flower's own command line is asked
installed    whether what Flower needs is there
project      a Flower App project that plays a spec; `app_texts` is what its files say
up           a run on a deployment of this machine; `status` is how it stands

May enter: Flower and psutil (extra `flower`), NumPy, torch, `ehfl.experiment` and what that may import. Leaves: the
names below, each imported when it is first used, so that neither flwr nor torch is loaded before it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehfl.lazy import lazy_names

if TYPE_CHECKING:
    from ehfl.flower.client import client_app
    from ehfl.flower.deployment import Deployment
    from ehfl.flower.installed import check_installed, check_simulation
    from ehfl.flower.project import write_app
    from ehfl.flower.server import server_app
    from ehfl.flower.simulation import simulate
    from ehfl.flower.specs import for_flower, one_run
    from ehfl.flower.up import run_up

__all__ = [
    "Deployment",
    "check_installed",
    "check_simulation",
    "client_app",
    "for_flower",
    "one_run",
    "run_up",
    "server_app",
    "simulate",
    "write_app",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "client": {"client_app"},
        "deployment": {"Deployment"},
        "installed": {"check_installed", "check_simulation"},
        "project": {"write_app"},
        "server": {"server_app"},
        "specs": {"for_flower", "one_run"},
        "simulation": {"simulate"},
        "up": {"run_up"},
    },
)
