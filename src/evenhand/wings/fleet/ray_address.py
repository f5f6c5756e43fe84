"""Which Ray cluster an address names, and whether anything answers there."""

from __future__ import annotations

import os
import socket
from urllib.parse import urlsplit

from evenhand.core.errors import UsageError

HERE = "here"
"""In place of an address: a cluster that is started on this machine, for this run."""
AUTO = "auto"
"""The cluster that runs on this machine."""
ANSWERS_S = 5.0
"""So long may a cluster take to accept a connection. Ray itself goes on for minutes where nothing is."""
START_ONE = (
    "Name a running cluster, e.g. --ray ray://head:10001, or start one with `ray start --head`."
)


def cluster_address(address: str) -> str:
    """The address that is meant.

    Args:
        address: What follows `--ray`; empty if nothing does.

    Returns:
        HERE, AUTO, or an address for Ray. Without an address, it is the one in `RAY_ADDRESS`, or else HERE; with
        `auto`, the one in `RAY_ADDRESS`, or else AUTO.
    """
    if address in {"", AUTO}:
        address = os.environ.get("RAY_ADDRESS") or address
    return HERE if address in {"", "local"} else address


def check_address(address: str) -> None:
    """Nothing, if something accepts connections at this address, or if only Ray can tell.

    Args:
        address: What `cluster_address` returns.

    Raises:
        UsageError: It has no port, or nothing answers there.
    """
    scheme, _, rest = address.rpartition("://")
    if address in {HERE, AUTO} or scheme not in {"", "ray"}:
        return
    try:
        where = urlsplit(f"//{rest}")
        host, port = where.hostname, where.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise UsageError(
            f"'{address}' is not the address of a Ray cluster",
            hint="Write HOST:6379, ray://HOST:10001 or auto. Write a PATH before --ray.",
        )
    if os.environ.get("RAY_grpc_enable_http_proxy") in {"1", "true"}:  # noqa: SIM112 (Ray's name)
        return  # then Ray reaches it by a way that is not ours
    try:
        socket.create_connection((host, port), ANSWERS_S).close()
    except (OSError, UnicodeError) as error:  # the latter: no host can have this name
        why = error.strerror if isinstance(error, OSError) else "no host has such a name"
        raise UsageError(
            f"nothing answers at '{address}': {why or error}", hint=START_ONE
        ) from error
