"""`evenhand runs listen`: take an application's traces in while it runs, and keep them as a run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.exits import FAILED, NOTHING_SELECTED, PASSED
from evenhand.cli.options import flag, number_option
from evenhand.cli.streams import printing, tell
from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.ranges import PORTS

if TYPE_CHECKING:
    from evenhand.wings.traces.listening import Listener
    from evenhand.wings.traces.run import Traces


@click.command(short_help="Receive an application's traces, and keep them as a run.")
@click.argument("command", nargs=-1, metavar="[-- COMMAND...]")
@number_option(
    "--port", within=PORTS, metavar="N", help="The port.  [default: 4318, or one that is free]"
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--idle",
    type=click.FloatRange(0.1, 86_400),
    metavar="SECONDS",
    help="End once nothing has arrived for so long.",
)
@flag("--json", "as_json", help="Print one JSON document to stdout.")
def listen(
    command: tuple[str, ...], port: int | None, host: str, idle: float | None, as_json: bool
) -> int:
    """Listen for OpenTelemetry traces, and keep each as a trial of a run.

    Without COMMAND, prints the variables that make an application's exporter send its traces here, and listens until
    Ctrl-C. With COMMAND, runs it with these variables set and ends when it does:

    \b
        evenhand runs listen -- python app.py

    Only this machine can reach the listener, and only with the token. Exits with 5 if no span arrived, and with 1 if
    COMMAND failed.
    """  # noqa: D301 (click's mark for a paragraph that keeps its lines)
    from evenhand.store.run_lookup import home_for
    from evenhand.wings.traces.listening import Listener
    from evenhand.wings.traces.run import Traces

    received = (
        home_for(Path.cwd()) / "traces" / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.jsonl"
    )
    traces = Traces(source="listener")
    try:
        listener = Listener(traces, received, host)
        ended = asyncio.run(_listen(listener, command, port, idle))
        if not traces.spans:
            tell("no span arrived: there is no run to keep")
            return FAILED if ended else NOTHING_SELECTED
        _keep(traces, received, as_json=as_json)
    finally:
        if not traces.spans:
            _remove(received)
        traces.close()
    if ended:
        tell(f"{command[0]} ended with exit code {ended}")
    return FAILED if ended else PASSED


def _keep(traces: Traces, received: Path, *, as_json: bool) -> None:
    """Keeps the run; what was received stays in its file if that fails."""
    from evenhand.cli.importing import kept, print_imported
    from evenhand.doors.importers.recorded import Recordings
    from evenhand.wings.traces.run import TracedRun

    try:
        recordings = Recordings([TracedRun(traces)], traces.notes)
        runs = kept(recordings)
    except EvenhandError:
        tell(f"what was received is in {received}: evenhand import traces {received}")
        raise
    _remove(received)
    print_imported("traces", runs, recordings, as_json=as_json)


def _remove(received: Path) -> None:
    with contextlib.suppress(OSError):
        received.unlink(missing_ok=True)
        received.parent.rmdir()


async def _listen(
    listener: Listener, command: tuple[str, ...], port: int | None, idle: float | None
) -> int:
    """Listens until Ctrl-C, until the command ends, or until nothing arrives any more; the command's exit code."""
    ready = asyncio.Event()
    serving = asyncio.ensure_future(listener.serve(port, ready.set))
    waiting = asyncio.ensure_future(ready.wait())
    started: list[asyncio.subprocess.Process] = []
    ends: list[asyncio.Future[int]] = []
    try:
        with _signals(started) as told_to_end:
            await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving  # which raises why
            if command:
                ends.append(asyncio.ensure_future(_run(command, listener.environment(), started)))
            else:
                _tell_how(listener)
                ends.append(told_to_end)
            if idle is not None:
                ends.append(asyncio.ensure_future(_quiet(listener, idle)))
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            return max(task.result() for task in done)
    finally:
        for task in (serving, waiting, *ends):
            task.cancel()
        await asyncio.gather(serving, waiting, *ends, return_exceptions=True)


@contextlib.contextmanager
def _signals(started: Sequence[asyncio.subprocess.Process]) -> Iterator[asyncio.Future[int]]:
    """Inside, SIGINT and SIGTERM end the future; a command that was started is told, and at the second one killed."""
    loop = asyncio.get_running_loop()
    told_to_end: asyncio.Future[int] = loop.create_future()

    def take(number: int) -> None:
        again = told_to_end.done()
        if not again:
            told_to_end.set_result(0)
        for process in started:
            if process.returncode is None and (again or number == signal.SIGTERM):
                with contextlib.suppress(ProcessLookupError):  # Ctrl-C reaches it by itself
                    process.kill() if again else process.terminate()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, take, number)
    try:
        yield told_to_end
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _tell_how(listener: Listener) -> None:
    with printing():
        for name, value in listener.environment().items():
            sys.stdout.write(f"export {name}='{value}'\n")
    tell(
        f"listening at {listener.address}: set these where the application runs; Ctrl-C ends it and keeps the run"
    )


async def _quiet(listener: Listener, seconds: float) -> int:
    """Waits until something has arrived, and then nothing for so long."""
    await listener.arrived.wait()
    while True:
        listener.arrived.clear()
        try:
            async with asyncio.timeout(seconds):
                await listener.arrived.wait()
        except TimeoutError:
            return 0


async def _run(
    command: tuple[str, ...], more: Mapping[str, str], started: list[asyncio.subprocess.Process]
) -> int:
    """Runs the command; its exit code."""
    try:
        process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **more})
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be run: {error.strerror or error}") from error
    started.append(process)
    return abs(await process.wait())
