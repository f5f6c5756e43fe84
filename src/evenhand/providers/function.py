"""A function of the user's that stands for a model: `call_api(prompt, options, context)` in a Python file.

That is how promptfoo calls it. Its answers are journaled and cached like a vendor's: it may well pay for them inside.
A change in its file, or in any Python file beside or below it, makes it another model.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import BadReply, BadRequest, CodeError
from evenhand.core.message import Prompt, Reply, Usage
from evenhand.core.provider import Answer, Host, Request
from evenhand.core.secrets import redacted
from evenhand.providers.local_code import code_digest


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
    _code: str = field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        self.account = self.id
        self._code = code_digest(self.path)

    def request(self, prompt: Prompt) -> Request:
        config: dict[str, Any] = {**self.config, **prompt.config}
        options = {"id": self.id, "label": self.label, "config": config}
        said = {
            "code": self._code,
            "function": self.function,
            "options": redacted(options),
            "prompt": prompt.text,
            "vars": prompt.vars,
        }
        identity = encode(said)
        context = {"vars": dict(prompt.vars), "prompt": {"raw": prompt.text, "label": prompt.label}}
        return Request(
            identity=identity,
            key=digest(identity),
            payload=(
                prompt.text,
                {**options, "config": {**config, "basePath": str(self.path.parent)}},
                context,
            ),
        )

    async def send(self, request: Request, host: Host) -> Answer:
        started = time.perf_counter()
        name = f"{self.path.name}:{self.function}"
        try:
            function = await host.load(self.path, self.function)
            result = await host.call(function, *request.payload, name=name)
        except CodeError as error:
            raise BadRequest(error.message, hint=error.hint) from error
        if not isinstance(result, Mapping):
            result = {"output": result}
        if result.get("error"):  # pyright: ignore[reportUnknownMemberType]
            raise BadRequest(f"{name} answered with an error: {result['error']}")
        if result.get("output") is None:  # pyright: ignore[reportUnknownMemberType]
            raise BadRequest(
                f"{name} answered without an output",
                hint="Return {'output': …}, or {'error': …}.",
            )
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
        if not isinstance(value, dict) or "output" not in value:
            raise BadReply(f"what {self.path.name} answered cannot be read", billed=None)
        row = cast("dict[str, Any]", value)
        output = row["output"]
        usage, metadata = _mapping(row.get("tokenUsage")), row.get("metadata")
        return Reply(
            text=output if isinstance(output, str) else encode(output).decode(),
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
