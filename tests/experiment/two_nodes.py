"""A Ray cluster of two nodes on this machine's loopback: says its address and a raylet's number, and kills that one.

A process of its own, since Ray leaves files open, and must be told where to listen before it is imported. It ends when
its standard input does; a line on it kills the second node.
"""

import os
import signal
import sys

if __name__ == "__main__":
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=2)
    raylet = second.all_processes["raylet"][0].process.pid
    sys.stdout.write(f"{cluster.address} {raylet}\n")
    sys.stdout.flush()
    if sys.stdin.readline():
        # Not waited for: as long as we do not ask after it, Ray's own workers take it for alive.
        os.kill(raylet, signal.SIGKILL)
        sys.stdout.write("killed\n")
        sys.stdout.flush()
    sys.stdin.read()
    cluster.shutdown()  # type: ignore[no-untyped-call]
