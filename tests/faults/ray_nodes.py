"""A Ray cluster of three nodes on this machine, each with real processes.

It says its address, and that of Ray's client; a line kills a node. It runs in a process of its own: Ray's threads and
warnings are not pytest's.
"""

from __future__ import annotations

import os
import socket
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from ray.cluster_utils import Cluster

if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as free:
        client = free.getsockname()[1]
    head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": client}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    sys.stdout.write(f"{cluster.address} ray://127.0.0.1:{client}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(nodes.pop(), allow_graceful=False)
            sys.stdout.write("killed\n")
            sys.stdout.flush()
    cluster.shutdown()
