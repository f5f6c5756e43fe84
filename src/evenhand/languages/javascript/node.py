"""A Node process for the files that need one: packages, files, the network, TypeScript.

How this works: one process for a run, started when the first such file is called. Calls go in and answers come back as
lines of JSON, any number under way at once, as Node likes it. It says whose code it is about to run, so that when it
dies or no longer answers, that call is the one to blame; the others are asked once more of a new process. A call that
takes too long while the process still answers is merely given up.

What needs none of these runs in an embedded engine, QuickJS: one JavaScript world with no way out of it, used by one
thread at a time. A script is compiled once in each and then takes its arguments, and gives its answer, as JSON text. A
function that has to be waited for is driven here: promises at once, timers by sleeping until the next is due. An engine
in which a call ran out of time or memory is not used again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from evenhand.core.errors import CodeError
from evenhand.core.record import Record
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


MEMORY_BYTES = 256 * 1024 * 1024
CLOCK_SLACK = 2.0
"""The engine's clock counts the seconds of all threads, so that it may only stop what the run gave up before."""

Kind = Literal["inline", "exported", "provider"]


class Compiled(Record, frozen=True):
    """What an engine compiles once.

    Attributes:
        kind: Inline code, a function that a file exports, or the provider that it exports.
        text: The text of one function: see `evenhand.languages.javascript.source`.
        name: What the file exports it as; empty for its default export.
        options: JSON that a provider is made with.
    """

    kind: Kind
    text: str
    name: str = ""
    options: str = ""


class OutOfLimits(CodeError):
    """A call ran out of time or memory: its engine is spent."""


class Engine:
    """One JavaScript world.

    Args:
        limit_s: Seconds of computing that one call may take.
    """

    def __init__(self, limit_s: float) -> None:
        import quickjs  # noqa: PLC0415 (only for configs with JavaScript)

        self._failure = (quickjs.JSException, quickjs.StackOverflow)
        self._limit_s = limit_s
        self._context = quickjs.Context()
        self._context.set_memory_limit(MEMORY_BYTES)
        self._context.set_max_stack_size(_stack_bytes())
        self._context.set_time_limit(limit_s * CLOCK_SLACK)
        about = {"env": dict(os.environ), "platform": sys.platform, "argv": ["node"]}
        self._world: Any = self._context.eval(_below("prelude.js"))(
            self._context.eval(_below("kit.js")), json.dumps({**about, "folder": str(Path.cwd())})
        )
        self._made: dict[Compiled, Any] = {}
        self._modules: dict[str, Any] = {}

    def call(self, script: Compiled, arguments: str) -> dict[str, Any]:
        """What the script answers: `kind` and `value`, or `error`, `name` and `stack`; and what was `printed`.

        Args:
            arguments: A JSON list.

        Raises:
            CodeError: It is not JavaScript, or exports no such function.
            OutOfLimits: It took too long or too much memory.
        """
        try:
            action = self._made.get(script)
            if action is None:
                action = self._made[script] = self._compiled(script)
            text = action(arguments)
            answer = json.loads(text if text is not None else self._waited_for())
        except self._failure as error:
            raise _thrown(str(error)) from None
        if (
            answer.get("error") in _SPENT
        ):  # thrown where the script, or ours around it, could catch it
            raise _thrown(answer["error"])
        return answer

    def check(self, text: str) -> None:
        """Reads the text of a function without running it.

        Raises:
            CodeError: It is not JavaScript.
        """
        try:
            self._read(text)
        except self._failure as error:
            raise _thrown(str(error)) from None

    def _read(self, text: str) -> Any:
        try:
            return self._context.eval(text)
        except ValueError:  # a NUL, or half a character
            raise CodeError("it is not JavaScript: it is not text") from None

    def _compiled(self, script: Compiled) -> Any:
        if script.kind == "inline":
            return self._world("inline", self._read(script.text))
        module = self._modules.get(script.text)
        if module is None:
            module = self._world("loaded", self._read(script.text))
            self._modules[script.text] = module
        if script.kind == "exported":
            return self._world("exported", module, script.name)
        return self._world("provider", module, script.name, script.options)

    def _waited_for(self) -> str:
        """The answer of a function that gave a promise."""
        until = time.monotonic() + self._limit_s
        try:
            while True:
                while self._context.execute_pending_job():
                    if time.monotonic() > until:
                        raise OutOfLimits(_TOO_LONG)
                state = self._world("settled")
                if isinstance(state, str):
                    return state
                wait_s = state / 1000
                if state < 0:
                    raise CodeError(
                        "it waits for what never happens", hint="A promise of its is never kept."
                    )
                if time.monotonic() + wait_s > until:
                    raise OutOfLimits(_TOO_LONG)
                time.sleep(wait_s)
                self._world("later", state)
        finally:
            # What this call left waiting is none of the next one's.
            self._world("fresh")


_TOO_LONG = "it took too long"
_SPENT = ("InternalError: out of memory", "null")  # null: no room is left even for the error


def _thrown(text: str) -> CodeError:
    """An exception of the engine's, which says what was thrown and then where."""
    message, _, stack = text.strip().partition("\n")
    if message == "InternalError: interrupted":
        return OutOfLimits(_TOO_LONG)
    if message in _SPENT:
        return OutOfLimits(f"it took more than {MEMORY_BYTES // 2**20} MB of memory")
    return code_error(message, stack)


def code_error(message: str, stack: str, path: Path | None = None) -> CodeError:
    """What went wrong in a user's code, and where: in the file at `path`, if Node ran it."""
    if message.startswith("Export: "):
        return CodeError(message.removeprefix("Export: "))
    return CodeError(message, hint=place_in(stack, path))


def place_in(stack: str, path: Path | None = None) -> str:
    """Where in the user's code the innermost call of a stack stands: `line 3`; empty where that is not said.

    Args:
        stack: As the embedded engine writes it, or Node.
        path: The file whose code Node ran.
    """
    lines = [int(line) for line in _PLACE.findall(stack)]
    if path is not None:
        name = f"{re.escape(path.name)}|{re.escape(quote(path.name))}"
        lines += [int(line) for line in re.findall(rf"/(?:{name}):(\d+)", stack)]
    line = next((line for line in lines if line <= OURS), None)
    return f"line {line}" if line else ""


_PLACE = re.compile(r"<input>:(\d+)")
OURS = 100_000
"""Lines of ours come after this one: the engine has one name for all code, and they would be taken for the file's."""


def _below(name: str) -> str:
    return "\n" * OURS + _text(name)


@lru_cache(maxsize=2)
def _text(name: str) -> str:
    return files("evenhand.languages.javascript").joinpath(name).read_text("utf-8")


def _stack_bytes() -> int:
    """As much of a stack as is safe: threads have 8 MB of it with glibc, 512 KB on macOS, 128 KB with musl."""
    if sys.platform != "linux":
        return 256 * 1024
    try:
        glibc = bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (OSError, ValueError):
        glibc = False
    return (1024 if glibc else 64) * 1024
