"""Serves the page on a port, until it is ended."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from aiohttp import web

from evenhand.cli.streams import tell
from evenhand.core.errors import UsageError
from evenhand.providers.http import close
from evenhand.wings.viewer.access import Access, LinkAccess, PageRunner
from evenhand.wings.viewer.asks import Asks
from evenhand.wings.viewer.listing import Runs
from evenhand.wings.viewer.server import PageServer, Review

_SOON_S = 1.0
_M_MMAP_THRESHOLD = -3
_LARGE = 1 << 20
"""Blocks from here on go back to the system as they are freed; else each thread would keep its own 10 MB texts."""


async def serve(
    runs: Runs,
    host: str,
    port: int,
    *,
    started: Callable[[Access], None],
    fixed: bool,
    review: Review | None = None,
    access: Access | None = None,
    again: Callable[[], Sequence[Path] | None] | None = None,
    asks: Asks | None = None,
) -> None:
    """Serves until it is cancelled.

    Args:
        host: An address to listen on; a loopback address where `access` is None.
        port: The port; 0 for any.
        fixed: Whether it has to be this port; if not, another one is taken where it is in use.
        review: A dataset that is reviewed meanwhile; None for none.
        access: Who is let in; None for anyone with the token of a new link.
        again: Gives the files of all runs anew, from time to time; None where `runs` finds them.
        asks: Asks cells again; None where the page may run nothing.

    Raises:
        UsageError: The port cannot be listened on, or nobody could sign in.
    """
    import socket  # noqa: PLC0415 (here alone)

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            if fixed:
                raise UsageError(
                    f"--port {port} cannot be listened on: {os.strerror(error.errno or 0)}",
                    hint="Name another one, or none for any that is free.",
                ) from error
            listening.bind((host, 0))
        access = access or LinkAccess(host, listening.getsockname()[1])
        async with contextlib.AsyncExitStack() as ending:
            ending.push_async_callback(close)  # what signing in asks the provider over
            await access.ready()
            server = PageServer(runs, access, review, asks)
            _spare_memory()
            runner = PageRunner(server.app(), shutdown_s=_SOON_S)
            ending.push_async_callback(runner.cleanup)
            await runner.setup()
            await web.SockSite(runner, listening).start()
            started(access)
            refreshing = None
            if again is not None:
                refreshing = asyncio.create_task(refresh(runs, again))
                ending.callback(refreshing.cancel)
            with contextlib.suppress(
                Exception
            ):  # whoever asks for the list is told what is wrong with it
                await asyncio.to_thread(runs.list)  # so that it is there when it is asked for
            await (refreshing or asyncio.Event().wait())


def _spare_memory() -> None:
    """Sets how memory is taken and given back, for long texts and passes over large runs."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # a pass makes millions of objects, and no cycles
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 (here alone)

        with contextlib.suppress(AttributeError):  # a C library without it does so anyway
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


EVERY_S = 60.0


async def refresh(runs: Runs, read: Callable[[], Sequence[Path] | None]) -> None:
    """Reads the remote again and again, until it is cancelled. While it can't be read, the list stays as it is."""
    problem = ""
    while True:
        await asyncio.sleep(EVERY_S)
        try:
            files = await asyncio.to_thread(read)
            problem = ""
        except Exception as error:  # noqa: BLE001 (a remote's library raises what it likes: the viewer stays up)
            if problem != str(error):  # said once
                problem = str(error)
                tell(f"the list of runs stays as it is: {problem}")
            continue
        if files is not None:
            runs.show_only(files)
