"""Everything that ehfl uses of Flower beside its public API: what to look at when Flower has a new version.

Public are flwr.app, clientapp, serverapp and simulation, and the command line. `tests/test_architecture.py` finds other
imports.
"""

from __future__ import annotations

from collections.abc import Mapping

from flwr.common.constant import HEARTBEAT_INTERVAL_INF, HEARTBEAT_PATIENCE, SUPERLINK_NODE_ID
from flwr.proto.node_pb2 import NodeInfo

__all__ = ["HEARTBEAT_INTERVAL_INF", "HEARTBEAT_PATIENCE", "SUPERLINK_NODE_ID", "NodeInfo", "packed_app"]


def packed_app(files: Mapping[str, bytes]) -> bytes:
    """Return the archive that `flwr run` would send of an app; raise ValueError if Flower does not accept it."""
    from flwr.cli.build import build_fab_from_files  # imports all of Flower's command line

    return build_fab_from_files(dict(files))[0]
