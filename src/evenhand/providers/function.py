"""A function of the user's that stands for a model: `call_api(prompt, options, context)` in a Python file.

That is how promptfoo calls it. Its answers are journaled and cached like a vendor's: it may well pay for them inside.
A change in its file, or in any Python file beside or below it, makes it another model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import BadReply, BadRequest, CodeError
from evenhand.core.message import Prompt, Reply, Task
from evenhand.core.provider import Answer, Host, Request
from evenhand.core.secrets import redacted
from evenhand.providers.classification import labelled
from evenhand.providers.embeddings import numbers
from evenhand.providers.local_code import code_digest
from evenhand.providers.returned import replied
from evenhand.providers.usage import mapping
from evenhand.providers.wanted import Wanted


def _as_is(value: object) -> object:
    return value


_CALLED: Mapping[Task, tuple[str, str, Callable[[object], object]]] = {
    "generate": ("call_api", "output", _as_is),
    "embed": ("call_embedding_api", "embedding", numbers),
    "classify": ("call_classification_api", "classification", labelled),
}
"""What is asked for → the function that does it where the id names none, what it returns it as, and what reads that."""


@dataclass(frozen=True, slots=True)
class _Call:
    function: str
    given: tuple[object, ...]
    task: Task


@dataclass(slots=True)
class FunctionProvider:
    """A Python function that answers prompts. Implements `evenhand.core.provider.Provider`."""

    id: str
    label: str
    path: Path
    function: str
    config: Mapping[str, Any]
    account: str = field(init=False, default="")
    paid: bool = field(init=False, default=True)
    tasks: frozenset[Task] = field(init=False, default=frozenset(_CALLED))
    _code: str = field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        self.account = self.id
        self._code = code_digest(self.path)

    def request(self, prompt: Prompt) -> Request:
        config: dict[str, Any] = {**self.config, **prompt.config}
        options = {"id": self.id, "label": self.label, "config": config}
        function = self.function or _CALLED[prompt.task][0]
        said = {
            "code": self._code,
            "function": function,
            "options": redacted(options),
            "prompt": prompt.text,
            "vars": prompt.vars,
        }
        identity = encode(said)
        whole = {**options, "config": {**config, "basePath": str(self.path.parent)}}
        given: tuple[object, ...] = (prompt.text, whole)
        if prompt.task == "generate":
            shown = {"raw": prompt.text, "label": prompt.label}
            given = (*given, {"vars": dict(prompt.vars), "prompt": shown})
        call = _Call(function, given, prompt.task)
        return Request(identity=identity, key=digest(identity), payload=call)

    async def send(self, request: Request, host: Host) -> Answer:
        started = time.perf_counter()
        call: _Call = request.payload
        name = f"{self.path.name}:{call.function}"
        _, wanted, read = _CALLED[call.task]
        try:
            function = await host.load(self.path, call.function)
            result = await host.call(function, *call.given, name=name)
        except CodeError as error:
            raise BadRequest(error.message, hint=error.hint) from error
        if not isinstance(result, Mapping):
            result = {wanted: result}
        if result.get("error"):  # pyright: ignore[reportUnknownMemberType]
            raise BadRequest(f"{name} answered with an error: {result['error']}")
        if result.get(wanted) is None:  # pyright: ignore[reportUnknownMemberType]
            raise BadRequest(
                f"{name} answered without an {wanted}",
                hint=f"Return {{'{wanted}': …}}, or {{'error': …}}.",
            )
        try:
            read(result[wanted])
        except BadReply as error:
            raise BadRequest(f"{name}: {error.message}") from error
        try:
            body = encode(result)  # pyright: ignore[reportUnknownArgumentType]
        except (TypeError, ValueError, RecursionError) as error:
            raise BadRequest(
                f"{name} answered with something that cannot be kept: {error}",
                hint="Return text, numbers, lists and dicts.",
            ) from error
        return Answer(body, time.perf_counter() - started)

    def reply(self, body: bytes) -> Reply:
        value = decode(body)
        row = mapping(value)
        found = next(((kind, read) for _, kind, read in _CALLED.values() if kind in row), None)
        if found is None:
            raise BadReply(f"what {self.path.name} answered cannot be read", billed=None)
        kind, read = found
        return replied(row, read(row[kind]), None if kind == "output" else "")

    async def close(self) -> None:
        """Holds nothing."""


def make(wanted: Wanted) -> FunctionProvider:
    """A function of a Python file: `python:x.py`, `python:x.py:answer`, `file://x.py:Class.method`."""
    text = wanted.id.removeprefix("python:").removeprefix("file://")
    name, colon, function = text.rpartition(":") if ".py:" in text else (text, "", "")
    path = wanted.base / (name if colon else text)
    if path.suffix != ".py":
        raise wanted.refused("is not a Python file", "Write file://<file.py>:<function>.")
    if not path.is_file():
        raise wanted.refused(f": {path.name} does not exist", f"Looked in {path.parent}.")
    return FunctionProvider(wanted.id, wanted.label or wanted.id, path, function, wanted.config)
