"""A Ray cluster is joined, or started on this machine; Ray is imported when one is asked for."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import suppress
from importlib import import_module
from typing import Any

from carob.errors import CarobError, ConfigError, ExitCode
from carob.system.installing import install_extra

PATIENCE = 5.0
"""Seconds for an address of the cluster to answer."""
LOST = 10.0
"""Seconds without its head node after which a cluster is lost. Ray itself ends this process after a minute of that."""
CUT_OFF = 2.0
"""Seconds without the node of this machine after which it is: it does not come back. Ray ends this process then."""
ADDRESS = "Give --ray-address HOST:PORT of its head node, or 'auto' on a machine of the cluster."
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_DEDUP_LOGS": "0",
}


class ClusterLostError(CarobError):
    """The cluster is gone in the middle of a run."""

    exit_code = ExitCode.INTERRUPTED
    slug = "ray-lost"


def join_cluster(address: str | None, ray: Any) -> bool:
    """Join the cluster at an address, or start one here; whether it is ours to end. Raises ConfigError if it cannot."""
    where = f"the Ray cluster at {address!r}" if address else "a local Ray cluster"
    try:
        check_reachable(address)
        if ray.is_initialized():
            return False
        _start(address, ray)
    except Exception as error:  # Ray raises plain Exceptions too
        raise ConfigError(f"{where} cannot be reached: {error_line(error)}.", fix=ADDRESS, slug="ray") from error
    return True


def _start(address: str | None, ray: Any) -> None:
    dashboard = None if address else False
    try:
        ray.init(address, include_dashboard=dashboard, log_to_driver=False, logging_level=logging.ERROR)
    except BaseException:
        with suppress(Exception):
            ray.shutdown()  # what was started before it broke off
        raise


def count_processors(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def import_ray() -> Any:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        return import_module("ray")
    except ImportError as error:
        raise ConfigError("Ray is not installed.", fix=install_extra("ray"), slug="no-ray") from error


def check_reachable(address: str | None) -> None:
    """Ray itself would try for ever to reach a cluster that is not there."""
    host, colon, port = (address or "").rpartition(":")
    if "://" in host:
        raise ValueError("Ray Client does not stream results.")
    if colon:
        socket.create_connection((host, int(port)), PATIENCE).close()


def needed_addresses(ray: Any) -> dict[str, float]:
    """The addresses that must answer, and for how long each may not."""
    context = ray.get_runtime_context()
    needed = {context.gcs_address: LOST}
    for node in ray.nodes():
        if node["NodeID"] == context.get_node_id():
            needed[f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"] = CUT_OFF
    return needed


def error_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:500].removesuffix(".")
