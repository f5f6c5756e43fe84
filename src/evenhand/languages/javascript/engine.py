"""The embedded engine: QuickJS, with limits, in whichever thread has it at the moment.

How this works: an engine is one JavaScript world with no way out of it: no files, no network, no Python. A script is
compiled once in each engine and then takes its arguments, and gives its answer, as JSON text: what is a value stays
one. A function that has to be waited for is driven here: promises at once, timers by sleeping until the next is due.

An engine is used by one thread at a time. One in which a call ran out of time or memory is not used again.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from evenhand.core.errors import CodeError
from evenhand.core.record import Record

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
        self._world: Any = self._context.eval(_below("prelude.js"))(
            self._context.eval(_below("kit.js")), _environment()
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


def _environment() -> str:
    about = {"env": dict(os.environ), "platform": sys.platform, "argv": ["node"]}
    return json.dumps({**about, "folder": str(Path.cwd())})


def _stack_bytes() -> int:
    """As much of a stack as is safe: threads have 8 MB of it with glibc, 512 KB on macOS, 128 KB with musl."""
    if sys.platform != "linux":
        return 256 * 1024
    try:
        glibc = bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (OSError, ValueError):
        glibc = False
    return (1024 if glibc else 64) * 1024
