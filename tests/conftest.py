"""What holds for every test: this machine's network alone, no developer's environment, the same examples every time."""

from __future__ import annotations

import os
import sys
from ipaddress import ip_address

from hypothesis import settings

settings.register_profile("evenhand", derandomize=True, deadline=None, database=None)
settings.load_profile("evenhand")

HERE = frozenset({"localhost", "", None})


def _only_here(event: str, details: tuple[object, ...]) -> None:
    """Refuses to connect to, or look up, any other machine.

    An audit hook: it sees every socket of Python's, but not uvloop's own.
    """
    if event == "socket.connect":
        address = details[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event == "socket.getaddrinfo":
        host = details[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host in HERE:
        return
    try:
        near = ip_address(str(host)).is_loopback
    except ValueError:
        near = str(host).endswith(".invalid")  # a name that never resolves
    if not near:
        raise AssertionError(f"a test wants to reach {host}: tests talk to this machine only")


def pytest_configure() -> None:
    """Guards the network, and forgets keys, addresses and folders that the developer may have set."""
    sys.addaudithook(_only_here)
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OPENAI_", "EVENHAND_", "PROMPTFOO_")):
            del os.environ[name]
