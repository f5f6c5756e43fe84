"""Workers that are processes of this machine: no cluster, nothing to install.

Messages go over a pair of sockets, pickled: the worker is our own process and runs the user's code, as this one does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection

from evenhand.core.errors import StoreError
from evenhand.engine.process import python_exit
from evenhand.wings.fleet.messages import Link, LinkDown, Message, WorkOrder
from evenhand.wings.fleet.worker import Worker

_GONE: list[Message] = []


class ProcessLink:
    """The way to a worker in a process of its own. Implements `evenhand.wings.fleet.messages.Link`."""

    def __init__(self, process: subprocess.Popen[bytes], connection: Connection) -> None:
        self.process = process
        self.name = f"process {process.pid}"
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._heard: asyncio.Queue[list[Message]] = asyncio.Queue()
        self._said: queue.SimpleQueue[object] = queue.SimpleQueue()
        for work in (self._read, self._write):
            threading.Thread(target=work, name=f"evenhand-{self.name}", daemon=True).start()

    async def receive(self) -> list[Message]:
        messages = await self._heard.get()
        if messages is _GONE:
            code = self.process.poll()
            raise LinkDown("its process ended" if code is None else f"it ended with {code}")
        return messages

    def send(self, messages: list[Message]) -> None:
        self._said.put(messages)

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self.process.kill()
        self._said.put(None)

    def _read(self) -> None:
        messages: list[Message] = []
        with contextlib.suppress(OSError, EOFError):
            while messages is not _GONE:
                messages = self._connection.recv()
                self._pass_on(messages)
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self.process.wait(5)
        self._pass_on(_GONE)

    def _pass_on(self, messages: list[Message]) -> None:
        with contextlib.suppress(RuntimeError):  # the run is over
            self._loop.call_soon_threadsafe(self._heard.put_nowait, messages)

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while (messages := self._said.get()) is not None:
                self._connection.send(messages)


class Processes:
    """Starts workers on this machine. Implements `evenhand.wings.fleet.messages.Cluster`."""

    def __init__(self) -> None:
        self.links: list[ProcessLink] = []

    async def start(self, order: WorkOrder) -> Link:
        ours, theirs = socket.socketpair()
        number = theirs.fileno()
        try:
            with theirs:
                process = subprocess.Popen(  # noqa: ASYNC220, S603 (at once; this very Python)
                    [sys.executable, "-P", "-m", "evenhand.wings.fleet.processes", str(number)],
                    pass_fds=(number,),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    start_new_session=True,  # Ctrl-C is the driver's: it drains
                )
        except OSError as error:
            ours.close()
            raise StoreError(f"no worker can be started: {error}") from error
        link = ProcessLink(process, Connection(ours.detach()))
        link.send([("order", order)])
        self.links.append(link)
        return link

    async def close(self) -> None:
        for link in self.links:
            link.kill()
        waits = (asyncio.to_thread(link.process.wait) for link in self.links)
        await asyncio.gather(*waits)


def work(number: int) -> None:
    """Works for the driver behind this socket, until it says that it is over, or is gone."""
    connection = Connection(number)
    (_, order), *rest = connection.recv()
    lock = threading.Lock()

    def send(messages: list[Message]) -> None:
        with lock:
            try:
                connection.send(messages)
            except OSError:  # the driver is gone: nothing may be sent in its name
                python_exit(1)

    worker = Worker(order, send)
    worker.deliver(rest)

    def listen() -> None:
        while True:
            try:
                worker.deliver(connection.recv())
            except (OSError, EOFError):
                python_exit(1)

    threading.Thread(target=listen, name="evenhand-line", daemon=True).start()
    worker.run()


if __name__ == "__main__":
    work(int(sys.argv[1]))
