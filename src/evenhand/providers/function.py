"""A function of the user's that stands for a model: `call_api(prompt, options, context)` in a Python file.

That is how promptfoo calls it. Its answers are journaled and cached like a vendor's: it may well pay for them inside.
A change in its file, or in any Python file beside or below it, makes it another model.
"""

from __future__ import annotations

import ast
import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import BadReply, BadRequest, CodeError, FailedCode, NoOutput
from evenhand.core.json_shapes import as_mapping
from evenhand.core.message import CHATS, Prompt, Reply, Task
from evenhand.core.names import did_you_mean
from evenhand.core.provider import Answer, Host, Request
from evenhand.core.ranges import WORKERS
from evenhand.core.record import Record
from evenhand.core.secrets import redacted, secrets_mark
from evenhand.languages.javascript import running as javascript
from evenhand.languages.javascript.references import is_reference, split_reference
from evenhand.languages.methods import HOW_TO_CALL, is_method_of_object, needs_object
from evenhand.providers.chat import seconds
from evenhand.providers.embeddings import labelled, numbers
from evenhand.providers.local_code import (
    asked_of_code,
    code_digest,
    files_mark,
    latency_s,
    paid_for,
    replied,
    shown_to_code,
)
from evenhand.providers.prices import call_bound
from evenhand.providers.wanted import Wanted
from evenhand.providers.workers import COUNT, Workers, another_python, bound_to_a_thread


def _as_is(value: object) -> object:
    return value


_CALLED: Mapping[Task, tuple[str, str, Callable[[object], object]]] = {
    "generate": ("call_api", "output", _as_is),
    "embed": ("call_embedding_api", "embedding", numbers),
    "classify": ("call_classification_api", "classification", labelled),
}
"""What is asked for → the function that does it where the id names none, what it returns it as, and what reads that."""


_METHODS: Mapping[Task, str] = {
    "generate": "callApi",
    "embed": "callEmbeddingApi",
    "classify": "callClassificationApi",
}
"""The same in JavaScript: the method of a class or an object."""


class _Call(Record, frozen=True):
    function: str
    arguments: tuple[object, ...]
    task: Task


Ask = Callable[[_Call, Host], Awaitable[object]]
"""Makes a call."""


@dataclass(slots=True, kw_only=True)
class FunctionProvider:
    """A Python function that answers prompts. Implements `evenhand.core.provider.Provider`."""

    id: str
    label: str
    path: Path
    function: str
    config: Mapping[str, Any]
    ask: Ask = field(repr=False)
    tasks: frozenset[Task] = frozenset(_CALLED)
    methods: Mapping[Task, str] = field(default_factory=dict[Task, str], repr=False)
    """What it is asked with where `function` says only who answers prompts."""
    account: str = field(init=False, default="")
    paid: bool = field(init=False, default=True)
    _code: str = field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        self.account = self.id
        self._code = code_digest(self.path)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file of the function, whose code decides what it answers."""
        return (self.path,)

    def request(self, prompt: Prompt) -> Request:
        config: dict[str, Any] = {**self.config, **prompt.config}
        options = {"id": self.id, "label": self.label, "config": config}
        function = self.methods.get(prompt.task) or self.function or _CALLED[prompt.task][0]
        parts = {
            "code": self._code,
            "function": function,
            "options": redacted(options),
            **asked_of_code(prompt),
        }
        identity = encode(parts)
        whole = {**options, "config": {**config, "basePath": str(self.path.parent)}}
        arguments: tuple[object, ...] = (prompt.text, whole)
        if prompt.task == "generate":
            arguments = (*arguments, shown_to_code(prompt))
        call = _Call(function, arguments, prompt.task)
        bound = call_bound(config)
        return Request(
            identity=identity,
            key=digest(identity),
            payload=call,
            cost_bound_usd=bound,
            unsent=secrets_mark(options)
            + files_mark([config, prompt.vars], self.path.parent, Path.cwd()),
        )

    async def send(self, request: Request, host: Host) -> Answer:
        started = time.perf_counter()
        call: _Call = request.payload
        name = f"{self.path.name}:{call.function}"
        _, expected, read = _CALLED[call.task]
        try:
            result = await self.ask(call, host)
        except CodeError as error:
            raise FailedCode(error.message, hint=error.hint) from error
        if not isinstance(result, Mapping):
            result = {expected: result}
        if result.get("error"):  # pyright: ignore[reportUnknownMemberType]
            error = f"{name} answered with an error: {result['error']}"
            raise BadRequest(error, billed=paid_for(result))  # pyright: ignore[reportUnknownArgumentType]
        if result.get(expected) is None:  # pyright: ignore[reportUnknownMemberType]
            raise NoOutput(
                f"{name} answered without an {expected}",
                hint=f"Return {{'{expected}': …}}, or {{'error': …}}.",
                billed=paid_for(result),  # pyright: ignore[reportUnknownArgumentType]
            )
        try:
            read(result[expected])
        except BadReply as error:
            raise FailedCode(f"{name}: {error.message}") from error
        try:
            body = encode(result, ordered=False)  # pyright: ignore[reportUnknownArgumentType]
        except (TypeError, ValueError, RecursionError) as error:
            raise FailedCode(
                f"{name} answered with something that cannot be kept: {error}",
                hint="Return text, numbers, lists and dicts.",
            ) from error
        took = latency_s(result)  # pyright: ignore[reportUnknownArgumentType]
        return Answer(body, time.perf_counter() - started if took is None else took)

    def reply(self, body: bytes) -> Reply:
        value = decode(body)
        row = as_mapping(value)
        reading = next(((kind, read) for _, kind, read in _CALLED.values() if kind in row), None)
        if reading is None:
            raise BadReply(f"what {self.path.name} answered cannot be read", billed=None)
        kind, read = reading
        return replied(row, read(row[kind]), None if kind == "output" else "")

    async def close(self) -> None:
        """Holds nothing."""


def make(wanted: Wanted) -> FunctionProvider:
    """A function of a Python file, `python:x.py`, `file://x.py:Class.method`; or what a JavaScript file exports."""
    text = wanted.id.removeprefix("python:").removeprefix("file://")
    if is_reference(f"file://{text}"):
        return _in_javascript(wanted, text)
    name, colon, function = text.rpartition(":") if ".py:" in text else (text, "", "")
    path = wanted.base / (name if colon else text)
    if path.suffix != ".py":
        raise wanted.refused(
            "is neither Python nor JavaScript", "Write file://<file.py>:<function>."
        )
    if not path.is_file():
        raise wanted.refused(f": {path.name} does not exist", f"Looked in {path.parent}.")
    ask = _in_python(wanted, path)
    _look_for(wanted, path, function)
    return _made(wanted, path, function, ask)


def _look_for(wanted: Wanted, path: Path, function: str) -> None:
    """Looks whether the file has the function, as far as that can be seen without running it; raises UsageError."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        if another_python(wanted):  # which may know more
            return
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        why = error.msg if isinstance(error, SyntaxError) else str(error)
        raise wanted.refused(f"cannot be used: {path.name}{line} is not Python: {why}") from None
    if is_method_of_object(tree, function):
        raise wanted.refused(f"cannot be used: {needs_object(function)}", HOW_TO_CALL)
    names, open_ = _names_in(tree)
    candidates = (
        [function.partition(".")[0]] if function else [name for name, _, _ in _CALLED.values()]
    )
    if open_ or not names.isdisjoint(candidates):
        return
    functions = sorted(
        node.name
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and not node.name.startswith("_")
    )
    there = f" It has {', '.join(functions[:10])}." if functions else ""
    hint = (
        did_you_mean(function, functions, "Name one that it has.")
        if function
        else f"Write def call_api(prompt, options, context), or name a function: python:{path.name}:NAME."
    )
    raise wanted.refused(f"cannot be used: {path.name} has no {candidates[0]}", f"{hint}{there}")


def _names_in(tree: ast.Module) -> tuple[set[str], bool]:
    """All names that a file binds anywhere, and whether there may be others: from imports of `*`, or made by code."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
    return names, not names.isdisjoint({"*", "globals", "setattr", "exec", "vars"})


def _made(
    wanted: Wanted, path: Path, function: str, ask: Ask, tasks: frozenset[Task] = frozenset(_CALLED)
) -> FunctionProvider:
    label = wanted.label or wanted.id
    return FunctionProvider(
        id=wanted.id,
        label=label,
        path=path,
        function=function,
        config=wanted.config,
        ask=ask,
        tasks=tasks,
    )


def _in_python(wanted: Wanted, path: Path) -> Ask:
    """Calls it in this process, or in processes of another interpreter where one is named."""
    limit_s = seconds(wanted.config, wanted.id, "timeout") if wanted.config.get("timeout") else None
    named = wanted.setting("workers", "PROMPTFOO_PYTHON_WORKERS")
    if named and not (named.isascii() and named.isdecimal() and float(named) in WORKERS):
        raise wanted.refused(f"wants {named:.60} workers", f"It is {WORKERS}.")
    python, count = another_python(wanted), int(named or COUNT)
    if not python and sys.executable and bound_to_a_thread(path):
        python, count = sys.executable, int(named or 1)
    if python:
        own = {k: v for k, v in wanted.env.items() if os.environ.get(k) != v}

        def workers(run_limit_s: float) -> Workers:
            return Workers(python, path, count, limit_s or run_limit_s, own)

        async def outside(call: _Call, host: Host) -> object:
            return await host.lasting(workers).call(call.function, call.arguments, host)

        return outside

    def turns(_: float) -> _Turns:
        return _Turns(int(named or UNBOUNDED))

    async def inside(call: _Call, host: Host) -> object:
        function = await host.load(path, call.function)
        name = f"{path.name}:{call.function}"
        async with host.lasting(turns).free:
            return await host.call(function, *call.arguments, name=name, limit_s=limit_s)

    return inside


UNBOUNDED = 1 << 20


class _Turns:
    """How many calls may be under way at once in a run."""

    def __init__(self, count: int) -> None:
        self.free = asyncio.Semaphore(count)

    def close(self) -> None:
        """Holds nothing."""


def _in_javascript(wanted: Wanted, text: str) -> FunctionProvider:
    """What a JavaScript file exports: a class with `callApi`, an object with it, or a function."""
    file, export = split_reference(f"file://{text}")
    path = wanted.base / file
    options = {"id": wanted.id, "label": wanted.label, "config": dict(wanted.config)}
    script = javascript.provider(path, export, options)
    for what, hint in javascript.problems(script):
        raise wanted.refused(f": {what}", hint)

    async def ask(call: _Call, host: Host) -> object:
        prompt, _, *context = call.arguments
        return (await javascript.call(host, script, _METHODS[call.task], prompt, *context)).value

    code = path.read_text("utf-8", "replace")
    methods: dict[Task, str] = {
        task: name for task, name in _METHODS.items() if task not in CHATS and name in code
    }
    provider = _made(wanted, path, export or "callApi", ask, CHATS | methods.keys())
    provider.methods = methods
    return provider
