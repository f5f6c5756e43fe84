"""A Node process for the files that need one: packages, files, the network, TypeScript.

How this works: one process for a run, started when the first such file is called. Calls go in and answers come back as
lines of JSON, any number under way at once, as Node likes it. It says whose code it is about to run, so that when it
dies or no longer answers, that call is the one to blame; the others are asked once more of a new process. A call that
takes too long while the process still answers is merely given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from evenhand.core.errors import CodeError
from evenhand.languages.javascript.engine import code_error
from evenhand.languages.javascript.wire import as_json

LONGEST_LINE = 256 * 1024 * 1024
PATIENCE = 0.4
"""Share of a call's time after which a process that does not answer is ended: the other calls still have the rest."""


def found_node() -> str:
    """The Node program: EVENHAND_NODE, or `node` on PATH; empty where there is none."""
    return _which(os.environ.get("EVENHAND_NODE") or "node", os.environ.get("PATH", ""))


@lru_cache(maxsize=8)
def _which(program: str, path: str) -> str:
    return shutil.which(program, path=path) or ""


def missing(what: str, why: str) -> tuple[str, str]:
    """What to say of code that needs Node where there is none: what is wrong, and what to do."""
    setting = os.environ.get("EVENHAND_NODE")
    where = (
        f"EVENHAND_NODE is {setting!r}, which is not a program" if setting else "it is not on PATH"
    )
    return (
        f"{what} {why}, and so needs Node: {where}",
        "Install Node 22 or newer, or set EVENHAND_NODE to it. Code without packages and files runs without Node.",
    )


OLDEST = 22


_BAD_OPTION = 9
"""The exit code of a Node that does not know an option of its worker's."""


def too_old(node: str, code: int) -> CodeError | None:
    """What to say of a Node that ended with this code, if that is because it is too old."""
    if code != _BAD_OPTION:
        return None
    try:
        text = subprocess.run(  # noqa: S603 (the user's own Node)
            [node, "--version"], capture_output=True, check=False, text=True, timeout=10
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    major = text.removeprefix("v").partition(".")[0]
    if not major.isdecimal() or int(major) >= OLDEST:
        return None
    return CodeError(
        f"it needs Node {OLDEST} or newer, and {node} is {text}",
        hint=f"Install Node {OLDEST} or newer, or set EVENHAND_NODE to one.",
    )


def command_of(node: str, word: str, script: str, kit: str, types: str) -> list[str]:
    """The command that starts a worker, which begins its lines with a word that nobody else knows."""
    return [node, script, word, kit, types]


@dataclass(slots=True, eq=False)
class _NodeCall:
    """What a process is asked, and who waits for the answer."""

    message: Mapping[str, Any]
    answer: asyncio.Future[dict[str, Any]]
    number: int = 0
    worker: _NodeProcess | None = None
    again: bool = False
    """It was under way when another call took its process down."""


@dataclass(slots=True, eq=False, kw_only=True)
class _NodeProcess:
    """A process, and what it has been asked and not answered yet."""

    process: subprocess.Popen[bytes]
    word: bytes
    into: asyncio.WriteTransport
    out: asyncio.StreamReader
    reading: asyncio.ReadTransport
    waiting: dict[int, _NodeCall] = field(default_factory=dict[int, _NodeCall])
    running: int = 0
    pong: asyncio.Event = field(default_factory=asyncio.Event)
    reader: asyncio.Task[None] | None = None
    watcher: asyncio.Task[None] | None = None
    stuck: bool = False
    uncaught: Mapping[str, str] | None = None

    def send(self, message: Mapping[str, Any]) -> None:
        if not self.into.is_closing():  # where it has died, its reader sees to the calls
            self.into.write(as_json(message).encode() + b"\n")

    async def ended(self) -> int:
        """The process's exit code. A process that no longer says anything but has not ended is made to."""
        for _ in range(100):
            if self.process.poll() is not None:
                break
            await asyncio.sleep(0.01)
        self.end()
        return self.process.returncode

    def kill(self) -> None:
        """Ends it with all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Ends it with all that it started, and lets go of its pipes."""
        self.kill()
        self.process.wait()
        self.into.close()
        self.reading.close()


class Node:
    """Calls into Node, for one run.

    Args:
        limit_s: Seconds that one call may take; who asks sees to that.
    """

    def __init__(self, limit_s: float) -> None:
        self._patience_s = limit_s * PATIENCE
        self._worker: _NodeProcess | None = None
        self._starting = asyncio.Lock()
        self._count = 0
        self._closed = False

    async def call(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What the worker answers: `kind` and `value`, or `error`, `name` and `stack`; and what was `printed`.

        Args:
            message: `code` (the text of a function) or `file` and `name`, with `options` for a provider; and `args`.

        Raises:
            CodeError: Node is not there, or died of this call.
        """
        call = _NodeCall(message, asyncio.get_running_loop().create_future())
        await self._send(call)
        try:
            return await call.answer
        except asyncio.CancelledError:  # it took too long, or nobody waits for it any more
            if call.worker is not None:
                call.worker.waiting.pop(call.number, None)
            raise

    def close(self) -> None:
        """Ends the process."""
        self._closed = True
        worker, self._worker = self._worker, None
        if worker is not None:
            for task in (worker.reader, worker.watcher):
                if task is not None:
                    task.cancel()
            worker.end()

    async def _send(self, call: _NodeCall) -> None:
        # Several first calls can come at once, and share one process.
        async with self._starting:
            if self._worker is None:
                self._worker = await self._started()
        worker = call.worker = self._worker
        self._count += 1
        call.number = self._count
        # Before it is noted: one that cannot be written would be sent again when the process ends.
        worker.send({**call.message, "id": call.number})
        worker.waiting[call.number] = call

    async def _started(self) -> _NodeProcess:
        program = found_node()
        if not program:
            raise CodeError("there is no Node to run it")
        word = secrets.token_hex(8)
        room = files("evenhand.languages.javascript")
        with (
            as_file(room / "worker.mjs") as script,
            as_file(room / "kit.js") as kit,
            as_file(room / "typescript.mjs") as types,
        ):
            try:
                process = subprocess.Popen(  # noqa: S603, ASYNC220 (the user's own Node; it is only started)
                    command_of(program, word, str(script), str(kit), str(types)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # so that what it starts ends with it
                )
            except OSError as error:
                raise CodeError(f"{program} cannot be started: {error}") from error
        loop = asyncio.get_running_loop()
        out = asyncio.StreamReader(limit=LONGEST_LINE)
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(out), process.stdout
        )
        into, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        worker = _NodeProcess(
            process=process, word=word.encode(), into=into, out=out, reading=reading
        )
        worker.reader = asyncio.create_task(self._read(worker))
        worker.watcher = asyncio.create_task(self._watch(worker))
        return worker

    async def _read(self, worker: _NodeProcess) -> None:
        """Hands out the answers until the process is gone, and then sees to the calls that it has left."""
        with contextlib.suppress(ValueError, OSError):  # a line past all bounds ends it, too
            while line := await worker.out.readline():
                # All other lines are what the user's code prints past the worker.
                if line.startswith(worker.word):
                    self._take(worker, json.loads(line[len(worker.word) :]))
        code = await worker.ended()
        if worker.watcher is not None:
            worker.watcher.cancel()
        # A new process may already have taken its place.
        if self._worker is worker:
            self._worker = None
        guilty = worker.waiting.pop(worker.running, None)
        if guilty is not None and not guilty.answer.done():
            guilty.answer.set_exception(_blame(worker, code, guilty.message.get("file")))
        # A copy: while one is sent again, another may be cancelled, which takes it out.
        for call in list(worker.waiting.values()):
            if call.answer.done():
                continue
            if call.again or self._closed:
                died = CodeError("Node died twice while running it")
                call.answer.set_exception(too_old(found_node(), code) or died)
            else:
                call.again = True
                await self._send_again(call)

    async def _send_again(self, call: _NodeCall) -> None:
        """Asks a new process. Where none can be started, whoever waits for the answer is told."""
        try:
            await self._send(call)
        except (CodeError, OSError) as error:
            if not call.answer.done():
                call.answer.set_exception(error)

    def _take(self, worker: _NodeProcess, message: dict[str, Any]) -> None:
        if "pong" in message:
            worker.pong.set()
        worker.uncaught = message.get("uncaught", worker.uncaught)
        if "id" not in message:
            return
        if message.get("begun"):
            worker.running = message["id"]
            return
        call = worker.waiting.pop(message["id"], None)
        if worker.running == message["id"]:
            worker.running = 0
        if call is not None and not call.answer.done():
            call.answer.set_result(message)

    async def _watch(self, worker: _NodeProcess) -> None:
        """Ends a process that no longer answers, in time for the calls beside the one that holds it up."""
        while True:
            await asyncio.sleep(self._patience_s / 4)
            if not worker.waiting:
                continue
            worker.pong.clear()
            worker.send({"ping": 1})
            try:
                await asyncio.wait_for(worker.pong.wait(), self._patience_s)
            except TimeoutError:
                worker.stuck = True
                worker.kill()
                return


def _blame(worker: _NodeProcess, code: int, file: str | None) -> CodeError:
    if worker.stuck:
        return CodeError("it held Node up, which was ended", hint="Look for a loop without an end.")
    if worker.uncaught is not None:
        error = code_error(
            worker.uncaught["error"], worker.uncaught["stack"], Path(file) if file else None
        )
        return CodeError(f"nobody caught {error.message}, which ended Node", hint=error.hint)
    return CodeError(f"it ended Node (exit code {code})", hint="Look for process.exit, or memory.")
