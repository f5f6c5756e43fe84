"""A Python file run by another interpreter: processes that stay, import the file once, and answer one call at a time.

How this works: a call takes a process that is idle, or starts one while there are fewer than wanted, or waits. A thread
of the run's writes the question and reads the answer. A process that dies, or is asked for too long, fails its own call
with what it said last; the next call gets a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from evenhand.core.encoding import decoded, encode
from evenhand.core.errors import CodeError
from evenhand.core.json_shapes import as_mapping
from evenhand.core.program_output import complaint_of
from evenhand.core.provider import Host
from evenhand.providers.wanted import Wanted

COUNT = 4
"""Processes where nobody says how many."""


def another_python(wanted: Wanted) -> str:
    """The interpreter that a config or PROMPTFOO_PYTHON names; empty for this one.

    Raises:
        UsageError: It is not there.
    """
    named = wanted.setting("pythonExecutable", "PROMPTFOO_PYTHON")
    if not named:
        return ""
    program = shutil.which(str(wanted.base / named) if "/" in named else named)
    if program is None:
        raise wanted.refused(
            f"is to run in {named}, which is not there",
            "Look at pythonExecutable or PROMPTFOO_PYTHON.",
        )
    return "" if _same(Path(program), Path(sys.executable)) else program


def bound_to_a_thread(path: Path) -> bool:
    """Whether the code of a file works in one thread only: with a loop or a database of its own, or with signals.

    It is run as promptfoo runs all: in the main thread of a process, one call after the other.
    """
    return _BOUND.search(path.read_bytes()) is not None


_BOUND = re.compile(
    rb"\.run_until_complete\(|\bsqlite3\.connect\(|\bsignal\.(?:signal|alarm|setitimer)\("
)


def _same(one: Path, other: Path) -> bool:
    """Whether two paths are one interpreter: links in one folder (`python`, `python3`) to one file.

    The folder counts, as a virtual environment's interpreter is a link to one that knows less.
    """
    if not other.name:  # sys.executable may be empty
        return False
    return one.parent.resolve() == other.parent.resolve() and one.resolve() == other.resolve()


_START = (
    "import sys; sys.path[:1] = [p for p in sys.path[:1] if p]; import runpy; "
    "del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""Runs a script without its folder, or the one we stand in, on the path: `import openai` is the user's, never ours."""


class _WorkerProcess:
    """One process. What it and the user's code write past Python's own stdout goes to a file, for its last words."""

    def __init__(self, python: str, path: Path, env: Mapping[str, str]) -> None:
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        script = Path(__file__).with_name("python_worker.py")
        self._process = subprocess.Popen(  # noqa: S603 (the interpreter and the file that the user named)
            [python, "-u", "-c", _START, str(script), str(path.resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            env={**os.environ, **env},
            start_new_session=True,  # so that what it starts ends with it
        )

    def ask(self, question: bytes, name: str) -> Mapping[str, Any]:
        """The worker's answer, waited for. What the user's code printed is printed here."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        line = b""
        with contextlib.suppress(BrokenPipeError, ValueError):
            stdin.write(question + b"\n")
            stdin.flush()
            line = stdout.readline()
        answer = as_mapping(decoded(line))
        if not answer:
            raise CodeError(
                f"the process of {name} ended: {self._last_words() or 'without a word'}"
            )
        if answer.get("printed"):
            print(answer["printed"], end="")  # noqa: T201 (the user's own, kept with the trial)
        return answer

    def end(self) -> None:
        """Ends it and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self.stderr):
            with contextlib.suppress(OSError):  # what could not be written any more
                if pipe is not None:
                    pipe.close()

    def _last_words(self) -> str:
        try:
            self.stderr.seek(0)
            return complaint_of(self.stderr.read(), 300)
        except (OSError, ValueError):
            return ""


class Workers:
    """The processes of one provider in one run.

    Args:
        count: How many processes there may be.
        limit_s: Seconds that one call may take; None for the run's own limit.
        env: Variables of the environment, beside our own.
    """

    def __init__(
        self, python: str, path: Path, count: int, limit_s: float | None, env: Mapping[str, str]
    ) -> None:
        self._python = python
        self._path = path
        self._limit_s = limit_s
        self._env = env
        self._turns = asyncio.Semaphore(count)
        self._idle: list[_WorkerProcess] = []

    async def call(self, function: str, args: tuple[object, ...], host: Host) -> object:
        """What the function returns.

        Raises:
            CodeError: It raised, took too long, or took its process down.
        """
        name = f"{self._path.name}:{function}"
        try:
            question = encode({"function": function, "args": args}, ordered=False)
        except (TypeError, ValueError) as error:
            raise CodeError(f"{name} cannot be given this: {error}") from error
        async with self._turns:
            worker = self._idle.pop() if self._idle else None
            if worker is None:
                worker = await host.call(
                    _WorkerProcess, self._python, self._path, self._env, name=name
                )
            try:
                answer = await host.call(
                    worker.ask, question, name, name=name, limit_s=self._limit_s
                )
            except BaseException:
                worker.end()
                raise
            self._idle.append(worker)
        if "error" in answer:
            raise CodeError(f"{name}: {answer['error']} ({answer.get('where')})")
        return answer.get("value")

    def close(self) -> None:
        """Ends the processes."""
        idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()
