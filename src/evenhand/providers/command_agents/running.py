"""A program, run to its end: each line that it prints with the time at which it came."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.errors import InfrastructureError
from evenhand.core.program_output import complaint_of, end_with_children
from evenhand.core.record import Record
from evenhand.providers.command_agents.transcript import Line

MOST_BYTES = 64_000_000
_CHUNK = 65_536
_LOOK_S = 0.25


class Ran(Record, frozen=True):
    """A program that came to its end.

    Attributes:
        errors: The end of what it printed to its standard error.
        code: Its exit code; negative for a signal.
    """

    lines: list[Line]
    errors: str
    code: int


async def run_program(
    command: Sequence[str],
    prompt: str,
    *,
    name: str,
    folder: Path,
    env: Mapping[str, str],
    limit_s: float,
) -> Ran:
    """Runs a program, and ends it with all that it started when it is over or takes too long.

    Args:
        prompt: What it is given on its standard input.
        env: All of its environment.
        limit_s: The seconds that it may take.

    Raises:
        InfrastructureError: It cannot be run, took too long, or printed more than can be kept.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=dict(env),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # so that what it starts ends with it
        )
    except (OSError, ValueError) as error:
        raise InfrastructureError(
            f"{name} cannot be run: {error}", hint="Is the program installed, and on the PATH?"
        ) from error
    printed, errors = _Lines(), bytearray()
    tasks: list[asyncio.Task[Any]] = [
        asyncio.create_task(process.wait()),
        asyncio.create_task(_tell(process, prompt)),
        asyncio.create_task(printed.read(process)),
        asyncio.create_task(_tail(process, errors)),
    ]
    try:
        async with asyncio.timeout(limit_s):
            while process.returncode is None and not printed.too_many:
                # What it has started may hold its output open when it is gone itself: look whether it is.
                await asyncio.wait(tasks, timeout=_LOOK_S)
            end_with_children(process)
            await asyncio.wait(tasks)
    except TimeoutError:
        raise InfrastructureError(
            f"{name} took longer than {limit_s:g} s", billed=None, hint="Raise timeoutMs."
        ) from None
    finally:
        if process.returncode is None:
            end_with_children(process)
        for task in tasks[1:]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if printed.too_many:
        raise InfrastructureError(f"{name} printed more than {MOST_BYTES:,} bytes", billed=None)
    code = process.returncode
    assert code is not None  # noqa: S101 (it was waited for)
    return Ran(printed.lines(), errors.decode("utf-8", "replace").strip(), code)


async def _tell(process: asyncio.subprocess.Process, prompt: str) -> None:
    stream = process.stdin
    assert stream is not None  # noqa: S101 (it was asked for)
    with contextlib.suppress(OSError):  # it need not listen
        stream.write(prompt.encode("utf-8", "replace"))
        await stream.drain()
    with contextlib.suppress(OSError):
        stream.close()


async def _tail(process: asyncio.subprocess.Process, tail: bytearray) -> None:
    stream = process.stderr
    assert stream is not None  # noqa: S101 (it was asked for)
    while chunk := await stream.read(_CHUNK):
        tail += chunk
        del tail[:-2000]


class _Lines:
    """What a program prints, line by line."""

    def __init__(self) -> None:
        self._lines: list[tuple[float, bytes]] = []
        self._rest = bytearray()
        self._bytes = 0
        self._began = time.monotonic()
        self.too_many = False

    async def read(self, process: asyncio.subprocess.Process) -> None:
        stream = process.stdout
        assert stream is not None  # noqa: S101 (it was asked for)
        while chunk := await stream.read(_CHUNK):
            self._bytes += len(chunk)
            if self._bytes > MOST_BYTES:
                self.too_many = True
                return
            at = time.monotonic() - self._began
            self._rest += chunk
            if b"\n" in chunk:
                *whole, self._rest = self._rest.split(b"\n")
                self._lines += [(at, bytes(line)) for line in whole]

    def lines(self) -> list[Line]:
        rest = [(time.monotonic() - self._began, bytes(self._rest))] if self._rest else []
        return [
            (round(at, 3), line.decode("utf-8", "replace").rstrip("\r"))
            for at, line in [*self._lines, *rest]
        ]


_TRY_S = 20.0
_ALONE = ("--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--new-session")


class Sandbox(Record, frozen=True):
    """What programs can be run in here.

    Attributes:
        program: Where `bwrap` is; empty where there is no sandbox.
        why: Why there is none, in words; empty where there is one.
    """

    program: str
    why: str = ""

    def command(
        self,
        command: Sequence[str],
        own: Path,
        *,
        readable: Sequence[Path],
        writable: Sequence[Path],
        network: bool,
    ) -> list[str]:
        """The command that runs another one inside.

        Args:
            own: The folder that it is run in, and may write to.
            readable: What it is to see although it lies in `/tmp`.
            writable: Files and folders that it may write to as well; those that are not there are left out.
            network: Whether it has a network.
        """
        tmp = Path("/tmp")  # noqa: S108 (that of the sandbox)
        words = [self.program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        if own != tmp and tmp not in readable:
            words += ["--tmpfs", str(tmp)]
        for path in readable:
            if path.is_relative_to(tmp) and path.exists():
                words += ["--ro-bind", str(path), str(path)]
        for path in writable:
            if path.exists():
                words += ["--bind", str(path), str(path)]
        words += ["--bind", str(own), str(own), "--chdir", str(own), *_ALONE]
        if not network:
            words.append("--unshare-net")
        return [*words, "--", *command]


@functools.cache
def sandbox_here() -> Sandbox:
    """The sandbox of this machine, tried out once."""
    program = shutil.which("bwrap")
    if program is None:
        return Sandbox("", "bwrap is not installed")
    trial = [
        program,
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        *_ALONE,
        "--",
        "true",
    ]
    try:
        done = subprocess.run(trial, capture_output=True, timeout=_TRY_S, check=False)  # noqa: S603 (a program found on the path)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Sandbox("", f"bwrap does not work here: {error}")
    if done.returncode:
        problem = complaint_of(done.stderr, 200)
        return Sandbox("", f"bwrap does not work here: {problem or f'code {done.returncode}'}")
    return Sandbox(program)
