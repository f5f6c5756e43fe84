"""`evenhand view`: a page on all runs, on this machine or for a team."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.options import flag, number_option
from evenhand.cli.remote_run_names import RunName, runs_elsewhere
from evenhand.cli.streams import printing, tell
from evenhand.core.errors import UsageError
from evenhand.core.ranges import PORTS

if TYPE_CHECKING:
    from evenhand.wings.viewer.access import Access
    from evenhand.wings.viewer.asks import Asks
    from evenhand.wings.viewer.listing import Runs
    from evenhand.wings.viewer.server import Review
    from evenhand.wings.viewer.team_access import TeamAccess

PORT = 15_500


@click.command(short_help="View runs in the browser.")
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_runs)
@number_option(
    "--port", within=PORTS, metavar="N", help=f"The port.  [default: {PORT}, or one that is free]"
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on: a loopback address, or any with --serve.",
)
@flag("--serve", help="Serve a team: people sign in and have roles.")
@click.option("--public-url", metavar="URL", help="With --serve: the address that browsers see.")
@click.option(
    "--open/--no-browser",
    "open_",
    default=None,
    help="Open the page, or only print its link.  [default: open it if there is a desktop]",
)
@flag(
    "--allow-runs",
    help="Let the page ask cells again, edited: runs the project's code here, with your keys.",
)
def view(
    run: str | None,
    port: int | None,
    host: str,
    serve: bool,
    public_url: str | None,
    open_: bool | None,
    allow_runs: bool,
) -> int:
    """View RUN in the browser: an id, the start of one, a file, or `REMOTE#RUN`. Default: all runs.

    With REMOTE, list the runs that were pushed there.

    Prints a link and serves the page until Ctrl-C. Only this machine can reach it, and only with the token in the link.
    Runs that are in progress are updated live.

    With --serve, a team reaches it behind a proxy. [tool.evenhand.viewer] in pyproject.toml says how people sign in and
    who may read and label.
    """
    from evenhand.core.wording.words import near
    from evenhand.store.run_lookup import find
    from evenhand.wings.viewer.listing import Runs
    from evenhand.wings.viewer.page import static

    static("app.js")  # or it says why there is no page, before it serves one
    access = _team_access(public_url) if serve else None
    host = _address(host) if serve else _loopback(host, public_url)
    elsewhere = runs_elsewhere(run)
    named = RunName().convert(run, None, None) if run and elsewhere is None else None
    path = find(Path.cwd(), named) if named else None
    runs = Runs(Path.cwd(), path, elsewhere)
    place = f"#/run/{path.stem}" if path else ""

    for hidden, other in runs.hidden().items():
        tell(f"{near(hidden)} is not shown: {near(other)} has the same id\n  Name it to see it.")

    asks = None
    if allow_runs:
        from evenhand.wings.viewer.asks import Asks

        asks = Asks(tell)
        if access is not None and not access.anyone_runs:
            tell("--allow-runs: nobody has the role `run`, so nobody can ask cells again")
    again = None
    if access is not None:
        port, open_ = port or PORT, open_ or False
    if access is not None and elsewhere is not None:
        tell("these runs are copies of what was pushed: they can be read here, and not labelled")
        access.only_read()
        again = partial(runs_elsewhere, run)
    return serve_page(runs, place, host, port, open_, access=access, again=again, asks=asks)


def _loopback(host: str, public_url: str | None) -> str:
    """The address of a viewer for one."""
    from evenhand.wings.viewer.access import loopback

    if public_url is not None:
        raise UsageError("--public-url goes with --serve")
    return loopback(host)


def _address(host: str) -> str:
    """The address of a viewer for a team."""
    import ipaddress

    try:
        return host if host == "localhost" else str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        raise UsageError(
            f"--host {host!r} is not an IP address",
            hint="127.0.0.1 for a proxy on this machine, or 0.0.0.0 for one elsewhere.",
        ) from None


def _team_access(address: str | None) -> TeamAccess:
    """Who is let in, as the project says.

    Raises:
        UsageError: It doesn't say who signs people in, or where browsers see the page.
    """
    from evenhand.languages.documents.project import settings_of
    from evenhand.wings.viewer.team_access import team_access
    from evenhand.wings.viewer.team_settings import ViewerSettings

    return team_access(settings_of("viewer", ViewerSettings), address, os.environ)


def serve_page(
    runs: Runs,
    place: str,
    host: str,
    port: int | None,
    open_: bool | None,
    review: Review | None = None,
    *,
    asks: Asks | None = None,
    access: TeamAccess | None = None,
    again: Callable[[], Sequence[Path] | None] | None = None,
) -> int:
    """Serves the page until it is ended, and prints the link to a place on it; the exit code.

    Args:
        place: The part of the address after `#`, with it; empty for the list of runs.
        port: None for the usual one, or another if that is in use.
        open_: Whether to open a browser; None where somebody sits before a screen.
        review: A dataset that is reviewed meanwhile.
        access: Who is let in; None for anyone with the token of the link.
        again: Gives the files of all runs anew, from time to time.
    """
    from evenhand.wings.viewer.serving import serve

    def started(open_access: Access) -> None:
        link = open_access.link + place
        with printing():
            sys.stdout.write(f"{link}\n")
        if port is None and not open_access.address.endswith(f":{PORT}"):
            tell(f"port {PORT} is in use: this is another one")
        if access is not None:
            near = f"[{host}]" if ":" in host else host
            tell(f"the proxy of that address reaches it at http://{near}:{port}")
        tell("Ctrl-C ends it")
        if _desktop() if open_ is None else open_:
            _open(link)

    first = PORT if port is None else port
    serving = serve(
        runs,
        host,
        first,
        started=started,
        fixed=port is not None,
        review=review,
        asks=asks,
        access=access,
        again=again,
    )
    return asyncio.run(_until_told(serving))


async def _until_told(serving: Coroutine[Any, Any, None]) -> int:
    """Serves until SIGINT or SIGTERM; the exit code."""
    from evenhand.engine.guardian import without_echoes

    task = asyncio.ensure_future(serving)
    signals: list[int] = []

    def end(number: int, limit_s: float) -> None:
        del limit_s
        signals.append(number)
        task.cancel()

    heard = without_echoes(end)  # a second signal interrupts a run that the page began
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, heard, number, 0.0)
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return 128 + signals[0] if signals else 0


def _desktop() -> bool:
    """Whether somebody sits before a screen."""
    if not sys.stdout.isatty() or os.environ.get("SSH_CONNECTION") or os.environ.get("CI"):
        return False
    return sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )


def _open(link: str) -> None:
    """Opens the browser, if that can be done; the link is printed anyhow."""
    import threading
    import webbrowser

    def opened() -> None:
        with contextlib.suppress(Exception):
            webbrowser.open(link)

    threading.Thread(target=opened, daemon=True).start()
