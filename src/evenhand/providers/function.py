"""A function of the user's that stands for a model: `call_api(prompt, options, context)` in a Python file.

That is how promptfoo calls it. Its answers are journaled and cached like a vendor's: it may well pay for them inside.
A change in its file, or in any Python file beside or below it, makes it another model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import BadReply, BadRequest, CodeError
from evenhand.core.message import Prompt, Reply, Task, Usage
from evenhand.core.provider import Answer, Host, Request
from evenhand.core.secrets import redacted
from evenhand.providers.classification import labelled
from evenhand.providers.embeddings import numbers
from evenhand.providers.local_code import code_digest


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
        row = _mapping(value)
        found = next(((kind, read) for _, kind, read in _CALLED.values() if kind in row), None)
        if found is None:
            raise BadReply(f"what {self.path.name} answered cannot be read", billed=None)
        kind, read = found
        output, text = read(row[kind]), ""
        if kind == "output":
            text = output if isinstance(output, str) else encode(output).decode()
        usage, metadata = _mapping(row.get("tokenUsage")), row.get("metadata")
        return Reply(
            text=text,
            output=output,
            usage=Usage(*(_count(usage.get(name)) for name in ("prompt", "completion", "cached"))),
            cost_usd=_number(row.get("cost")),
            finish_reason=str(row.get("finishReason") or ""),
            metadata=_mapping(metadata)
            if isinstance(metadata, dict) or not metadata
            else {"metadata": metadata},
        )

    async def close(self) -> None:
        """Holds nothing."""


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    """A number that is not negative; None for anything else that a function may have put there."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        return None
    return float(value)


def _count(value: object) -> int | None:
    number = _number(value)
    return None if number is None or number >= 1 << 53 else int(number)
