"""Connections that are kept for the next request, and whether a server has closed one meanwhile.

libcurl looks once a second. A request that goes out in between over a connection that is closed fails, and it couldn't
be said whether anybody has read it. So whoever sends asks here first.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket

_MOST = (
    20_000  # connections that are remembered; those that are not in use are forgotten all at once
)
_CLOSED = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR

Name = tuple[str, int, str, int]
"""A connection's address and port on this machine, and there: one port here may lead to several servers."""


class KeptConnections:
    """What is known of the connections of one event loop."""

    def __init__(self) -> None:
        self._sockets: set[int] = set()
        self._named: dict[Name, _Socket] = {}
        self._users: dict[Name, int] = {}

    def opened(self, number: int, _purpose: int) -> int:
        """A socket was made; libcurl goes on with it."""
        self._sockets.add(number)
        return 0

    def joined(self, name: Name) -> None:
        """A request goes out over this connection, which several may share: by HTTP/2."""
        if len(self._users) >= _MOST:
            self._users = {name: count for name, count in self._users.items() if count}
            self._named.clear()
        self._users[name] = self._users.get(name, 0) + 1

    def left(self, name: Name) -> None:
        """The request has ended."""
        self._users[name] -= 1

    def is_closed(self, name: Name) -> bool:
        """Whether the server has closed a connection that was used before. A new one isn't looked at."""
        users = self._users.get(name)
        if users is None:
            return False
        one = self._named.get(name)
        if one is None or not one.is_open():
            self._name_sockets()
            one = self._named.get(name)
        if one is None:  # one that was reset has no name any more
            return True
        # Where nobody waits for anything, what has come is the end: TLS and HTTP/2 say so before the socket does.
        return one.has(_CLOSED if users else _CLOSED | select.POLLIN)

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
        self._poll.register(number, _CLOSED | select.POLLIN)

    def is_open(self) -> bool:
        """Whether the number still belongs to it."""
        try:
            return os.fstat(self._number).st_ino == self._identity
        except OSError:
            return False

    def has(self, events: int) -> bool:
        """Whether one of these has happened to it."""
        happened = self._poll.poll(0)
        return bool(happened) and bool(happened[0][1] & events)


def _name_of(one: socket.socket) -> Name:
    """The name of the connection that has this socket."""
    here, port = one.getsockname()[:2]
    there, port_there = one.getpeername()[:2]
    return _without_zone(here), int(port), _without_zone(there), int(port_there)


def _without_zone(address: object) -> str:
    """An address as libcurl has it, which leaves out through which network interface it is reached."""
    return str(address).partition("%")[0]
