"""What goes into JavaScript and what comes out of it: always data, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from evenhand.core.record import Record


class Returned(Record, frozen=True):
    """What a script returned.

    Attributes:
        kind: `undefined`, `null`, `boolean`, `number`, `string`, `array`, `object`, `function` or `symbol`.
        value: As Python has it; None for what has no value there.
    """

    kind: str
    value: Any = None


def returned(answer: Mapping[str, Any]) -> Returned:
    """An engine's answer as what was returned."""
    kind, value = str(answer["kind"]), answer.get("value")
    if kind == "number" and isinstance(
        value, str
    ):  # NaN and the infinities, for which JSON has no form
        value = float(value.lower().replace("infinity", "inf"))
    return Returned(kind, value)


def as_json(value: object) -> str:
    """A value as JSON that any engine reads, keys in their own order. What JSON has no form for goes as text."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):  # a lone surrogate, an object of the user's
        return json.dumps(value, default=str)
