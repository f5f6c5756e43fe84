"""How values look in a filled-in template, and what their parts are called."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec


def printed(value: object) -> str:
    """How a value prints: text as it is, numbers and booleans as in JavaScript, objects as JSON, nothing as nothing."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[object]", value)
        if not any(isinstance(item, (list, tuple, dict)) for item in items):
            return ",".join(printed(item) for item in items)
    return as_json(value)


def as_json(value: object) -> str:
    """Compact JSON, keys in their own order."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        return json.dumps(value, default=str, separators=(",", ":"), ensure_ascii=False)


def member(value: object, name: str) -> object:
    """A named part of a plain value; None where there is none. Never an attribute of a Python object."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get(name)
    if name == "length" and isinstance(value, (str, list, tuple)):
        return len(cast("Sequence[object]", value))
    return None
