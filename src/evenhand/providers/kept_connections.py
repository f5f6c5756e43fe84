"""Connections that are kept for the next request, and whether a server has closed one meanwhile.

libcurl looks once a second. A request that goes out in between over a connection that is closed fails, and it couldn't
be said whether anybody has read it. So whoever sends asks here first.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time

_SOON_S = 0.005
"""A connection that answered so shortly ago isn't looked at."""
_MOST = 20_000  # connections that are remembered; they are forgotten all at once
_CLOSED = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR

Name = tuple[str, int, str, int]
"""A connection's address and port on this machine, and there: one port here may lead to several servers."""


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
            self._name_sockets()
            one = self._named.get(name)
        return one is None or one.is_closed_there()  # one that was reset has no name any more

    def _name_sockets(self) -> None:
        """Finds out which connection has which socket, and forgets the sockets that are closed."""
        self._named.clear()
        for number in list(self._sockets):
            try:
                one = socket.socket(fileno=number)
            except OSError:  # closed, or no socket any more
                self._sockets.remove(number)
                continue
            with contextlib.suppress(OSError, ValueError, TypeError):  # not connected, or not by IP
                self._named[_name_of(one)] = _Socket(number)
            one.detach()


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


def _name_of(one: socket.socket) -> Name:
    """The name of the connection that has this socket."""
    here, port = one.getsockname()[:2]
    there, port_there = one.getpeername()[:2]
    return _without_zone(here), int(port), _without_zone(there), int(port_there)


def _without_zone(address: object) -> str:
    """An address as libcurl has it, which leaves out through which network interface it is reached."""
    return str(address).partition("%")[0]
