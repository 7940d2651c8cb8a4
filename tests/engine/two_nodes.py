"""A Ray cluster of two nodes on this machine. Prints its address; kills the second node when it reads a line.

In a process of its own, because Ray warns as it is imported, and because its processes must end with it.
"""

from __future__ import annotations

import logging
import os
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"

from ray.cluster_utils import Cluster

MEMORY = 80 * 1024 * 1024
SOON = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}


def main() -> None:
    logging.disable(logging.INFO)
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": MEMORY, "_system_config": SOON}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    second = cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
    print(cluster.address, flush=True)
    sys.stdin.readline()
    cluster.remove_node(second, allow_graceful=False)
    print("killed", flush=True)
    sys.stdin.readline()
    cluster.shutdown()


if __name__ == "__main__":
    main()
