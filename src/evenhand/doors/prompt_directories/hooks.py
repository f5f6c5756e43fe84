"""guard.sh and verify.sh: programs beside a prompt, run before a prompt is sent and after the answer is there.

How this works: a hook is run in a session of its own, with the variables in its environment, and with a time limit;
what it started ends with it. What it writes is text of unknown worth: it is cut at a megabyte, and a line that is not
KEY=VALUE sets nothing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from evenhand.core.errors import CodeError
from evenhand.core.program_output import complaint_of
from evenhand.core.record import Record
from evenhand.languages.templates.plain import as_text

if TYPE_CHECKING:
    import subprocess

LIMIT_S = 30.0
MOST = 1_000_000
"""Bytes that a hook may write."""
_LOOK_S = 0.005

_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)=(.*)")


class Ran(Record, frozen=True):
    """What became of a hook.

    Attributes:
        code: Its exit code.
        output: What it wrote to stdout.
        complaint: What it wrote to stderr.
    """

    code: int
    output: str
    complaint: str

    def values(self) -> tuple[dict[str, str], list[str]]:
        """The variables that it sets, and the lines that set none."""
        variables: dict[str, str] = {}
        others: list[str] = []
        for line in self.output.splitlines():
            pair = _PAIR.fullmatch(line.strip())
            if pair:
                variables[pair[1]] = pair[2]
            elif line.strip():
                others.append(line)
        return variables, others


def is_hook(path: Path) -> bool:
    """Whether there is a hook to run: a file that may be executed."""
    return path.is_file() and os.access(path, os.X_OK)


def hook_env(prompt: str, case: str, values: Mapping[str, object]) -> dict[str, str]:
    """What a hook finds in its environment, beside what was there: each variable, the prompt's id, the case."""
    variables = {f"EVA_VAR_{name}": as_text(value) for name, value in values.items()}
    return {**variables, "EVA_PROMPT_ID": prompt, "EVA_CASE": case}


async def run_hook(path: Path, more: Mapping[str, str], limit_s: float = LIMIT_S) -> Ran:
    """Runs a hook and waits for it.

    Args:
        limit_s: Seconds that it may take.

    Raises:
        CodeError: It cannot be started, took too long, or wrote too much.
    """
    import asyncio  # noqa: PLC0415 (those who only look at hooks run none)

    stop = threading.Event()
    try:
        return await asyncio.to_thread(_run, path, {**os.environ, **more}, limit_s, stop)
    finally:
        stop.set()  # where nobody waits for it any more


def _run(path: Path, env: Mapping[str, str], limit_s: float, stop: threading.Event) -> Ran:
    """Runs a hook. Its output goes to files: what it leaves behind cannot hold them open, as it could a pipe."""
    import tempfile  # noqa: PLC0415 (imported on use)

    name = f"{path.parent.name}/{path.name}"
    started = time.perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = _start(path, env, out, err)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", "") or str(error)
            raise CodeError(f"{name} cannot be run: {why}", hint=_hint(error)) from None
        try:
            while process.poll() is None and not stop.is_set():
                if time.perf_counter() - started > limit_s:
                    hint = "It, and what it started, was ended."
                    raise CodeError(f"{name} took longer than {limit_s:g} s", hint=hint)
                if max(os.fstat(out.fileno()).st_size, os.fstat(err.fileno()).st_size) > MOST:
                    what = f"{name} wrote more than {MOST:,} bytes"
                    raise CodeError(what, hint="It was ended.")
                stop.wait(_LOOK_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                # Also after it has ended: what it started may still be running.
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        return Ran(code, _read(out), _read(err))


def _start(
    path: Path, env: Mapping[str, str], out: IO[bytes], err: IO[bytes]
) -> subprocess.Popen[bytes]:
    import subprocess  # noqa: PLC0415 (imported on use)

    for program in ((str(path),), ("/bin/sh", str(path))):
        try:
            return subprocess.Popen(  # noqa: S603 (the user's own hook)
                program,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as error:
            if error.errno != errno.ENOEXEC:  # a script without its first line is a shell's
                raise
    raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC), str(path))


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST).decode("utf-8", "replace").replace("\0", "�")


def _hint(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOENT:
        return "The program that its first line names is not there."
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return "A value is too long for the environment: leave it to a file."
    return ""


async def guarded(
    path: Path, prompt: str, case: str, values: Mapping[str, object], limit_s: float = LIMIT_S
) -> Ran:
    """Runs a guard. Its variables go over all others.

    Raises:
        CodeError: It said no, or could not be run: nothing may be sent.
    """
    ran = await run_hook(path, hook_env(prompt, case, values), limit_s)
    if ran.code:
        output = complaint_of(ran.complaint or ran.output)
        raise CodeError(f"guard.sh failed for {prompt} (exit {ran.code})", hint=output)
    return ran
