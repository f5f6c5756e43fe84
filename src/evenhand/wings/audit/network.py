"""Keeps code of the user's from sending anything while made answers are scored.

How this works: an audit hook of the interpreter sees every connection that Python code makes, before it is made. Hooks
stay for as long as the process lasts; this one does nothing outside of `nothing_sent`. Addresses of this machine are
let through: an application may have its database there. Other processes that the code starts aren't seen.
"""

from __future__ import annotations

import ipaddress
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from evenhand.core.errors import CodeError

_lock = threading.Lock()
_state = {"inside": 0, "hooked": 0}
refused: list[str] = []
"""The hosts to which connections were refused, one for each time."""


@contextmanager
def nothing_sent() -> Iterator[None]:
    """Inside, connections to other machines are refused, in all threads."""
    with _lock:
        if not _state["hooked"]:
            sys.addaudithook(_look)
            _state["hooked"] = 1
        _state["inside"] += 1
    try:
        yield
    finally:
        with _lock:
            _state["inside"] -= 1


def _look(event: str, arguments: tuple[object, ...]) -> None:
    if not _state["inside"] or event not in ("socket.connect", "socket.getaddrinfo"):
        return
    address = arguments[1] if event == "socket.connect" else arguments[0]
    host = address[0] if isinstance(address, tuple) and address else address
    if isinstance(address, tuple | str | bytes) and not _is_here(host, event):
        refused.append(str(host))
        raise CodeError(
            f"the audit sends nothing, and the code connects to {host!r}",
            hint="Ask the `model` that the eval gets, or give the client evenhand.recording.http_client().",
        )


def _is_here(host: object, event: str) -> bool:
    """Whether a host is this machine: by its name or its address; a path of a Unix socket is."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str) or host in ("", "localhost") or host.startswith(("/", "\0")):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return event == "socket.connect"  # a name: looking it up has been refused
