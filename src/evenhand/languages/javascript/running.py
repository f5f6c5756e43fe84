"""JavaScript for a run: what is short and stands alone in embedded engines, all else in Node.

How this works: inline code may run in any engine, so that there are as many as run at once. A file has one engine of
its own, as a module has one state, and calls of it wait for each other; the waiting costs no thread and no time of
theirs. An engine in which a call ran out of time or memory is replaced. Values go in and come out as JSON; what is
printed is printed in the thread or task that runs the user's code, and so kept with its trial.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from evenhand.core.encoding import decode
from evenhand.core.errors import CodeError
from evenhand.core.names import did_you_mean
from evenhand.core.provider import Host
from evenhand.core.record import Record
from evenhand.languages.javascript import source
from evenhand.languages.javascript.node import (
    Compiled,
    Engine,
    Node,
    OutOfLimits,
    code_error,
    command_of,
    found_node,
    missing,
    too_old,
)
from evenhand.languages.javascript.references import TYPESCRIPT, without_settings
from evenhand.languages.javascript.wire import Returned, as_json, returned

_IDLE = 16
"""Engines that are kept for inline code."""

INLINE_S = 10.0
"""Seconds that one call of inline code may take, also where the run allows a call more: it has nothing to wait for."""


class JavaScriptCode(Record, frozen=True):
    """JavaScript that can be called: inline code, or what a file exports.

    Attributes:
        name: What to call it when it fails.
        text: Inline code as the text of a function; empty for a file.
        export: What the file exports it as; empty for its default export.
        options: JSON that the file's provider is made with; empty for a function.
    """

    name: str
    text: str = ""
    path: Path | None = None
    export: str = ""
    options: str = ""


def expression(
    code: str, *parameters: str, name: str = "javascript", declarations: bool = False
) -> JavaScriptCode:
    """Inline code as promptfoo reads it: one line is an expression, several lines are a body with a `return`.

    Args:
        parameters: The names under which it finds what it is called with.
        name: What to call it when it fails.
        declarations: A line that begins with `const`, `let` or `var` returns its last statement.
    """
    text = source.function_text(source.body(code, declarations=declarations), parameters)
    return JavaScriptCode(name, text)


def function(path: Path, export: str = "") -> JavaScriptCode:
    """A function of a file: its default export, or the one of this name (`name`, `Class.method`)."""
    name = without_settings(export)
    return JavaScriptCode(f"{path.name}:{name}" if name else path.name, path=path, export=export)


def provider(path: Path, export: str, options: Mapping[str, Any]) -> JavaScriptCode:
    """A file's provider: a class, made once with these options, an object with `callApi`, or a function.

    It is called with the name of a method, such as `callApi`, and its arguments.
    """
    name = f"{path.name}:{without_settings(export) or 'callApi'}"
    return JavaScriptCode(name, path=path, export=export, options=as_json(options))


async def call(host: Host, script: JavaScriptCode, *args: object) -> Returned:
    """Calls a script and waits for what it returns, its promise included.

    Raises:
        CodeError: It is not JavaScript, raised, took too long, needs Node where there is none, or ended its process.
    """
    return await host.lasting(JavaScript).call(host, script, args)


def problems(script: JavaScriptCode) -> list[tuple[str, str]]:
    """What is wrong with a script, as far as can be seen without running it: (what, what to do)."""
    if script.path is None:
        why = source.wants_node(script.text)
        if why:
            return [] if found_node() else [missing(script.name, f"uses {why}")]
        return _not_javascript(script.name, script.text)
    path = script.path
    if not path.is_file():
        beside = [p.name for p in path.parent.glob("*.*s")] if path.parent.is_dir() else []
        hint = did_you_mean(path.name, beside, f"Looked in {path.parent}.")
        return [(f"{path.name} does not exist", hint)]
    code = path.read_text("utf-8", "replace")
    if source.exports_nothing_called(code, script.export):
        return [(f"{path.name} has no function '{script.export}'", "")]
    reason = _reason_for_node(path, code, script.export)
    if reason:
        return _unloadable(script, path) if found_node() else [missing(path.name, reason)]
    if found_node():  # code that is too new for the embedded engine runs in Node
        return []
    return _not_javascript(path.name, source.module_text(code))


def _unloadable(script: JavaScriptCode, path: Path) -> list[tuple[str, str]]:
    """What keeps a file of TypeScript from being loaded; a config is loaded by whoever reads it."""
    if path.suffix not in TYPESCRIPT or script.export.startswith("config("):
        return []
    error = _load_problem(
        found_node(),
        path.absolute(),
        path.stat().st_mtime_ns,
        script.export,
        provider=bool(script.options),
    )
    return [] if error is None else [(f"{path.name}: {error.message}", error.hint)]


def is_javascript(code: str, *parameters: str) -> bool:
    """Whether inline code can be read as JavaScript. It is not run."""
    return not _not_javascript("", expression(code, *parameters).text)


def _not_javascript(name: str, text: str) -> list[tuple[str, str]]:
    try:
        Engine(1.0).check(text)
    except CodeError as error:
        return [(f"{name} is not JavaScript: {error.message}", error.hint)]
    return []


def _reason_for_node(path: Path, code: str, export: str) -> str:
    if path.suffix in TYPESCRIPT:
        return "is TypeScript"
    if export.startswith("config("):
        return "is a config in JavaScript"
    reason = source.wants_node(code)
    return f"uses {reason}" if reason else ""


@dataclass(slots=True, eq=False)
class _LoadedFile:
    """A file of this run: its engine, once there is one, or Node."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    engine: Engine | None = None
    text: str = ""
    reason: str | None = None
    """Why it needs Node; empty for not at all; None before it was read."""


class JavaScript:
    """All JavaScript of one run; `Host.lasting` makes and closes it.

    Args:
        limit_s: Seconds that one call may take; inline code in an engine has at most `INLINE_S`.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._inline_s = min(limit_s, INLINE_S)
        self._idle: list[Engine] = []
        self._files: dict[Path, _LoadedFile] = {}
        self._inline_for_node: dict[str, str] = {}
        self._node = Node(limit_s)

    async def call(self, host: Host, script: JavaScriptCode, args: tuple[object, ...]) -> Returned:
        """See `call` above."""
        if script.path is None:
            reason = self._wanted(script)
            if reason:
                message = {"code": script.text, "args": args}
                return await self._in_node(host, script, message, f"uses {reason}")
            arguments = as_json(args)
            return await host.call(
                self._inline, script, arguments, name=script.name, limit_s=self._inline_s
            )
        file = self._files.setdefault(script.path, _LoadedFile())
        if file.reason is None:
            await host.call(self._read, script, file, name=script.name)
        if file.reason:
            message: dict[str, object] = {
                "file": str(script.path.absolute()),
                "name": script.export,
                "args": args,
            }
            if script.options:
                message["options"] = decode(script.options)
            return await self._in_node(host, script, message, file.reason)
        async with file.turn:
            return await host.call(self._exported, script, file, as_json(args), name=script.name)

    def close(self) -> None:
        """Lets the engines go, and ends Node."""
        self._idle.clear()
        self._files.clear()
        self._node.close()

    def _wanted(self, script: JavaScriptCode) -> str:
        need = self._inline_for_node.get(script.text)
        if need is None:
            need = self._inline_for_node[script.text] = source.wants_node(script.text)
        return need

    def _inline(self, script: JavaScriptCode, arguments: str) -> Returned:
        engine = self._idle.pop() if self._idle else Engine(self._inline_s)
        try:
            answer = engine.call(Compiled("inline", script.text), arguments)
        except OutOfLimits as error:
            raise _named(script, error) from None
        except CodeError as error:
            self._keep(engine)
            raise _named(script, error) from None
        self._keep(engine)
        return _returned(script, answer)

    def _keep(self, engine: Engine) -> None:
        if len(self._idle) < _IDLE:
            self._idle.append(engine)

    def _read(self, script: JavaScriptCode, file: _LoadedFile) -> None:
        path = script.path
        assert path is not None  # noqa: S101 (only files are read)
        try:
            code = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CodeError(f"{path.name} cannot be read: {error}") from None
        reason = _reason_for_node(path, code, script.export)
        if not reason:
            file.text = source.module_text(code)
            if found_node() and _not_javascript(path.name, file.text):
                reason = "is not what the embedded engine reads"
        file.reason = reason

    def _exported(self, script: JavaScriptCode, file: _LoadedFile, arguments: str) -> Returned:
        kind = "provider" if script.options else "exported"
        compiled = Compiled(kind, file.text, script.export, script.options)
        engine = file.engine = file.engine or Engine(self._limit_s)
        try:
            answer = engine.call(compiled, arguments)
        except OutOfLimits as error:
            if file.engine is engine:
                file.engine = None
            raise _named(script, error) from None
        except CodeError as error:
            raise _named(script, error) from None
        return _returned(script, answer)

    async def _in_node(
        self, host: Host, script: JavaScriptCode, message: Mapping[str, Any], reason: str
    ) -> Returned:
        if not found_node():
            what, hint = missing(script.name, reason)
            raise CodeError(what, hint=hint)

        async def asked() -> Returned:
            try:
                answer = await self._node.call(message)
            except CodeError as error:
                raise _named(script, error) from None
            return _returned(script, answer)

        return await host.call(asked, name=script.name)


def _returned(script: JavaScriptCode, answer: Mapping[str, Any]) -> Returned:
    for line in answer.get("printed") or ():
        print(line)  # noqa: T201 (what user code prints is kept with its trial)
    if "error" in answer:
        raise _named(script, code_error(answer["error"], answer["stack"], script.path))
    return returned(answer)


def _named(script: JavaScriptCode, error: CodeError) -> CodeError:
    return type(error)(f"{script.name}: {error.message}", hint=error.hint)


PATIENCE_S = 15.0
"""Seconds that loading may take; of a file that takes longer, nothing is said."""


@lru_cache(maxsize=1024)
def _load_problem(
    node: str, path: Path, changed: int, export: str, *, provider: bool
) -> CodeError | None:
    """Why a file can't be loaded, or exports no such function; None where it can.

    What TypeScript imports, and what of the language this Node can run, isn't seen from outside. So the file is loaded
    in a process of its own before anything is paid; nothing in it is called.

    Args:
        changed: When the file was changed, for the cache.
        export: What it is to export; empty for its default export.
        provider: It may export a class or an object, which is made only when it is asked.
    """
    del changed
    word = secrets.token_hex(8)
    call = {"id": 1, "only": "load", "file": str(path), "name": export, "provider": provider}
    with contextlib.ExitStack() as opened:
        room = files("evenhand.languages.javascript")
        scripts = [
            str(opened.enter_context(as_file(room / name)))
            for name in ("worker.mjs", "kit.js", "typescript.mjs")
        ]
        try:
            process = subprocess.Popen(  # noqa: S603 (the user's own Node)
                command_of(node, word, *scripts),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            return CodeError(f"{node} cannot be started: {error}")
        with process:
            limit = threading.Timer(PATIENCE_S, process.kill)
            limit.start()
            try:
                assert process.stdin is not None  # noqa: S101 (a pipe, as above)
                assert process.stdout is not None  # noqa: S101
                with contextlib.suppress(OSError):  # it has ended: its last words say why
                    process.stdin.write(as_json({**call, "args": []}).encode() + b"\n")
                    process.stdin.flush()
                for line in process.stdout:
                    # The file printed it while it was loaded.
                    if not line.startswith(word.encode()):
                        continue
                    answer = json.loads(line[len(word) :])
                    answer = answer.get("uncaught") or answer
                    if "error" in answer:
                        return code_error(answer["error"], answer["stack"], path)
                    if "kind" in answer:
                        return None
                if limit.is_alive():  # it was not ended from here
                    code = process.wait()
                    return too_old(node, code) or CodeError(
                        f"loading it ended Node (exit code {code})"
                    )
            finally:
                limit.cancel()
                process.kill()
    return None
