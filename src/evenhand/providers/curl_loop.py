"""libcurl's transfers, driven by an event loop.

libcurl says which sockets it waits for and until when, and the loop tells it what has happened to them. A transfer that
has ended is handed over in a turn of its own: between two of them the loop looks at its sockets again, so that the next
answer's time is taken when it comes, and not once our own work for all the answers before it is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import selectors
import socket
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import pycurl

from evenhand.core.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable


CONNECTIONS = 4_096
"""Idle ones that are kept for the next request."""


_MASKS = {
    pycurl.POLL_IN: select.POLLIN,
    pycurl.POLL_OUT: select.POLLOUT,
    pycurl.POLL_INOUT: select.POLLIN | select.POLLOUT,
}
"""What libcurl waits for, as `poll` and `epoll` have it."""
_EVENTS = {mask: events for events, mask in _MASKS.items()}


class Ending(Record, frozen=True):
    """How a transfer ended.

    Attributes:
        number: libcurl's error number; 0 for none.
        message: libcurl's words for it.
        at: When it had ended, as `time.perf_counter` has it.
    """

    number: int
    message: str
    at: float


class CurlLoop:
    """Performs transfers on the event loop that is running when it is made."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.kept = KeptConnections()
        self._multi: Any = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._wake_in)
        self._multi.setopt(pycurl.M_MAXCONNECTS, CONNECTIONS)
        self._under_way: dict[pycurl.Curl, asyncio.Future[Ending]] = {}
        self._ended: deque[tuple[asyncio.Future[Ending], Ending]] = deque()
        # One for all sockets: the loop's own takes three system calls whenever one is watched, and a handle.
        self._sockets = sockets()
        self._watched: dict[int, int] = {}
        self.loop.add_reader(self._sockets.fileno(), self._look)
        self._timer: asyncio.Handle | None = None
        self.is_broken = False
        """libcurl has given up as a whole, for instance as the loop could watch no more sockets."""

    async def perform(self, curl: pycurl.Curl) -> Ending:
        """Performs one transfer. Whoever is cancelled meanwhile closes its connection."""
        future: asyncio.Future[Ending] = self.loop.create_future()
        self._under_way[curl] = future
        try:
            self._multi.add_handle(curl)
            return await future
        finally:
            self._under_way.pop(curl, None)
            self._multi.remove_handle(curl)

    def end(self, curl: pycurl.Curl, number: int) -> None:
        """Ends a transfer that is under way, with a number that is none of libcurl's."""
        future = self._under_way.get(curl)
        if future is not None and not future.done():
            future.set_result(Ending(number, "", time.perf_counter()))

    def close(self) -> None:
        """Closes all connections."""
        if self._timer is not None:
            self._timer.cancel()
        self._multi.close()
        self._look_no_more()

    def _watch(self, what: int, socket: int, _multi: object, _data: object) -> None:
        """Watches a socket for what libcurl waits for now."""
        events = what & pycurl.POLL_INOUT  # POLL_REMOVE has neither
        before = self._watched.pop(socket, 0)
        if events:
            (self._sockets.modify if before else self._sockets.register)(socket, _MASKS[events])
            self._watched[socket] = events
        elif before:
            self._sockets.unregister(socket)

    def _look(self) -> None:
        """Something has happened at some sockets."""
        for number, mask in self._sockets.poll(0):
            if not self.is_broken:
                # An end or an error comes to what libcurl waits for there.
                self._act(number, _EVENTS.get(mask) or self._watched.get(number, 0))

    def _look_no_more(self) -> None:
        self._watched.clear()
        if not self.loop.is_closed():
            self.loop.remove_reader(self._sockets.fileno())
        self._sockets.close()

    def _wake_in(self, milliseconds: int) -> None:
        """Has the loop call libcurl after so long; -1 for never."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if milliseconds == 0:  # not now: it may not be called from where it calls
            self._timer = self.loop.call_soon(self._act, pycurl.SOCKET_TIMEOUT, 0)
        elif milliseconds > 0:
            wake: Callable[..., None] = self._act
            self._timer = self.loop.call_later(milliseconds / 1000, wake, pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, socket: int, mask: int) -> None:
        """Something has happened at a socket, or it is time."""
        if socket == pycurl.SOCKET_TIMEOUT:
            self._timer = None
        try:
            _, running = self._multi.socket_action(socket, mask)
        except pycurl.error as error:
            self._give_up(str(error))
            return
        if running >= len(self._under_way):
            return
        now = time.perf_counter()
        waits = bool(self._ended)
        more = 1
        while more:
            more, well, badly = self._multi.info_read()
            for curl in well:
                self._ended.append((self._under_way.pop(curl), Ending(0, "", now)))
            for curl, number, message in badly:
                self._ended.append((self._under_way.pop(curl), Ending(number, message, now)))
        if self._ended and not waits:
            self.loop.call_soon(self._hand_over)

    def _give_up(self, message: str) -> None:
        """Ends all that is under way: nothing more would ever be heard of it."""
        self.is_broken = True
        if self._timer is not None:
            self._timer.cancel()
        self._look_no_more()  # or the loop would call for ever
        ending = Ending(pycurl.E_RECV_ERROR, message, time.perf_counter())
        for future in self._under_way.values():
            if not future.done():
                future.set_result(ending)

    def _hand_over(self) -> None:
        """Lets whoever waits for one transfer go on."""
        while self._ended:
            future, ending = self._ended.popleft()
            if not future.done():
                future.set_result(ending)
                break
        if self._ended:
            self.loop.call_soon(self._hand_over)


def sockets() -> Any:
    """An epoll, or what stands in for it: `selectors` would make six calls of each of them."""
    return select.epoll() if sys.platform == "linux" else Selected()


class Selected:
    """What `select.epoll` is, for systems without it."""

    def __init__(self) -> None:
        self._selector: Any = selectors.DefaultSelector()  # kqueue, which has a file, too
        self.fileno, self.close = self._selector.fileno, self._selector.close
        self.unregister = self._selector.unregister

    def register(self, socket: int, mask: int) -> None:
        """Watches a socket for these events."""
        self._selector.register(socket, _EVENTS[mask])

    def modify(self, socket: int, mask: int) -> None:
        """Watches it for others."""
        self._selector.modify(socket, _EVENTS[mask])

    def poll(self, timeout_s: float) -> list[tuple[int, int]]:
        """What has happened."""
        return [(key.fd, _MASKS[events]) for key, events in self._selector.select(timeout_s)]


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
