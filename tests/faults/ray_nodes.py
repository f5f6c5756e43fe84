"""A Ray cluster of three nodes on this machine, each with real processes.

It says its address, and that of Ray's client; a line kills a node. It runs in a process of its own: Ray's threads and
warnings are not pytest's.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from ray.cluster_utils import Cluster

ATTEMPTS = 3
"""A node that doesn't answer within half a minute, as on a busy machine, makes Ray give up."""


def started(head: dict[str, Any]) -> tuple[Cluster, list[Any]]:
    """A cluster with two nodes beside its head."""
    for left in reversed(range(ATTEMPTS)):
        cluster = Cluster()
        try:
            cluster.add_node(**head)
            nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
            cluster.wait_for_nodes()
        except Exception:
            cluster.shutdown()
            if not left:
                raise
        else:
            return cluster, nodes
    raise AssertionError


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as free:
        client = free.getsockname()[1]
    head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": client}
    cluster, nodes = started(head)
    sys.stdout.write(f"{cluster.address} ray://127.0.0.1:{client}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(nodes.pop(), allow_graceful=False)
            sys.stdout.write("killed\n")
            sys.stdout.flush()
    cluster.shutdown()
