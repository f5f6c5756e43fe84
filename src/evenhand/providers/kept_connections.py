"""Connections that are kept for the next request, and whether a server has closed one meanwhile.

libcurl looks once a second. A request that goes out in between over a connection that is closed fails, and it couldn't
be said whether anybody has read it. So whoever sends asks here first.
"""

from __future__ import annotations

import os
import select
import socket
import time

_SOON_S = 0.005
"""A connection that answered so shortly ago isn't looked at."""
_MOST = 20_000  # connections that are remembered; they are forgotten all at once
_CLOSED = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR

Name = tuple[str, int]
"""A connection's address and port on this machine."""


class KeptConnections:
    """What is known of the connections of one event loop."""

    def __init__(self) -> None:
        self._sockets: set[int] = set()
        self._named: dict[Name, _Socket] = {}
        self._used_at: dict[Name, float] = {}

    def opened(self, number: int, _purpose: int) -> int:
        """A socket was made; libcurl goes on with it."""
        self._sockets.add(number)
        return 0

    def used(self, name: Name) -> None:
        """A request was answered over this connection."""
        if len(self._used_at) >= _MOST:
            self._used_at.clear()
            self._named.clear()
        self._used_at[name] = time.monotonic()

    def is_closed(self, name: Name) -> bool:
        """Whether the server has closed a connection that was used before. A new one isn't looked at."""
        used_at = self._used_at.get(name)
        if used_at is None or time.monotonic() - used_at < _SOON_S:
            return False
        one = self._named.get(name)
        if one is None or not one.is_open():
            named = {_name_of(number): number for number in self._sockets}
            self._sockets = {number for name, number in named.items() if name[1]}
            self._named = {name: _Socket(number) for name, number in named.items() if name[1]}
            one = self._named.get(name)
        return one is not None and one.is_closed_there()


class _Socket:
    """A socket, and a way to tell it from another one that has its number later."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._identity = os.fstat(number).st_ino
        self._poll = select.poll()
        self._poll.register(number, _CLOSED)

    def is_open(self) -> bool:
        """Whether the number still belongs to it."""
        try:
            return os.fstat(self._number).st_ino == self._identity
        except OSError:
            return False

    def is_closed_there(self) -> bool:
        """Whether the other side has closed it."""
        return bool(self._poll.poll(0))


def _name_of(number: int) -> Name:
    """The name of the connection that has this socket now; without one, nothing and 0."""
    try:
        one = socket.socket(fileno=number)
    except OSError:  # closed, or no socket any more
        return "", 0
    try:
        host, port = one.getsockname()[:2]
        return str(host), int(port)
    except (OSError, ValueError, TypeError):  # of another kind
        return "", 0
    finally:
        one.detach()
