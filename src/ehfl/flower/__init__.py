"""Flower: the same scheduler, aggregation and batteries on devices that come and go (the paper's figure 1).

Adapters only: scheduling, aggregation and energy costs are computed by the rooms above.

wire         messages between server and nodes, and their exchange with a deadline
server       a run whose clients are devices, as Flower's ServerApp
node         the node's half of a round, as Flower's ClientApp, with its energy account
local        on this machine: Flower's simulation, or a deployment on loopback
app          a Flower App project that plays a spec
internals    what ehfl uses of Flower beside its public API

The public names are in __init__.pyi and imported on first use, so that flwr and torch are loaded only when needed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
