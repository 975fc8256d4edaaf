"""Flower: the same scheduler, aggregation and batteries on devices that come and go (the paper's figure 1).

Adapters only: scheduling, aggregation and energy costs are computed by the rooms above.

client       the node's half of a round, as Flower's ClientApp; `node_config` is the node's configuration, `bundle` the
             spec in its app, `node_setup` builds fleet and trainer from it, `time_limit` ends work that hangs
server       a run whose clients are devices, as Flower's ServerApp: `nodes` polls them, `screening` rejects invalid
             answers, `devices` selects clients and sends the model, `participation` summarises all rounds
specs        a spec adapted for Flower
simulation   server and nodes in Flower's simulation
messages     the messages between server and nodes
exchange     requests to many nodes with a deadline; `heartbeats` decides which nodes to wait for, `pulling` fetches
             replies so that a slow upload delays no other node
account      a node's energy account, kept in an `account_file` on its disk: settled and charged once per round
meters       energy that is read from the device; `traces`: a node's own harvest
deployment   a SuperLink and SuperNodes on loopback; their programs run as `processes`, each under a `guard`
flwr_cli     calls of Flower's command line
installed    whether Flower and Ray are installed
project      a Flower App project that plays a spec; `app_texts` has the content of its files
up           a run on a deployment on this machine; `status` is its progress

The public names are in __init__.pyi and imported on first use, so that flwr and torch are loaded only when needed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
