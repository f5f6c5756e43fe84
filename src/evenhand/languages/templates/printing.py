"""How values look in a filled-in template, and what their parts are called."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import cast

import msgspec

from evenhand.core.json_shapes import is_mapping, with_whole_numbers


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
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[object]", value)
        if not any(isinstance(item, (list, tuple, dict)) for item in items):
            return ",".join(printed(item) for item in items)
    return as_json(value)


def in_template(value: object) -> str:
    """How a value prints in a template: as `printed` says, but an object as JavaScript has it, `[object Object]`."""
    if isinstance(value, str):
        return value
    if is_mapping(value):
        return "[object Object]"
    if isinstance(value, (list, tuple)):
        return ",".join(in_template(item) for item in value)
    return printed(value)


def number_text(value: float) -> str:
    """A number as JavaScript writes it: 1.0 as 1, from 1e21 on and below 1e-6 with an exponent.

    Whole numbers beyond 2**53 are as near as JavaScript's numbers come to them (ECMA-262, Number::toString).
    """
    if isinstance(value, int) and -(1 << 53) <= value <= 1 << 53:
        return str(value)
    try:
        number = float(value)
    except OverflowError:
        return "Infinity" if value > 0 else "-Infinity"
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number.is_integer() and abs(number) <= 1 << 53:
        return str(int(number))
    mantissa, _, exponent = repr(number).partition("e")
    if not exponent and abs(number) >= 1e-6:
        return mantissa.removesuffix(".0")
    digits = Decimal(repr(number))
    if 1e-6 <= abs(number) < 1e21:
        return f"{digits:f}".removesuffix(".0")
    return f"{mantissa.removesuffix('.0')}e{'+' if int(exponent) > 0 else ''}{int(exponent)}"


def as_json(value: object) -> str:
    """Compact JSON, keys in their own order, numbers as in JavaScript."""
    value = with_whole_numbers(value)
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        return json.dumps(value, default=str, separators=(",", ":"), ensure_ascii=False)


def member(value: object, name: str) -> object:
    """A named part of a plain value; None where there is none. Never an attribute of a Python object."""
    if is_mapping(value):
        return value.get(name)
    if name == "length" and isinstance(value, (str, list, tuple)):
        return len(value)
    return None
