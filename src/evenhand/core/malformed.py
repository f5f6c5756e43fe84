"""What is wrong with a value that was to be read, in words that need no knowledge of who reads it."""

from __future__ import annotations

import json
import re

CUT_OFF = "it was cut off"
_AT = r" - at (?:(`key`) in )?`\$\.?([^`]*)`$"
_MISSING = re.compile(r"^Object missing required field `([^`]+)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `([^`]+)`$")
_VALUE = r"(?s)^Invalid (?:enum )?value (.+)$"
_EXPECTED = r"^Expected `([^`]+)`(?:, got `([^`]+)`)?"
_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def json_fault(data: bytes | str) -> str:
    """Why JSON cannot be read: `it was cut off`, or the line and the column of what is wrong.

    >>> json_fault('{"a": [1, 2'), json_fault('[1,]')
    ('it was cut off', 'line 1, column 4 is wrong')
    """
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    text = text.removeprefix("\ufeff").rstrip()
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        # Python reports a text that is not closed where it begins, not where the data end.
        if error.pos >= len(text) or error.msg.startswith("Unterminated string"):
            return CUT_OFF
        return f"line {error.lineno}, column {error.colno} is wrong"
    except RecursionError:
        return "it is nested too deeply"
    except ValueError:
        pass
    return "it holds a value that JSON has no form for"


def document_fault(data: bytes, error: Exception) -> str:
    """Why a JSON file cannot be read: it is not JSON, or it holds what msgspec refused with this error.

    >>> document_fault(b"[1, 2", Exception())
    'it is not JSON: it was cut off'
    """
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return f"it is not JSON: {json_fault(data)}"
    if str(error).startswith("JSON is malformed"):  # NaN and Infinity, which Python reads
        return f"it is not JSON: {json_fault(data)}"
    return shape_fault(error)


def shape_fault(error: Exception) -> str:
    """What msgspec finds wrong with a value: which field, and what it should be.

    >>> shape_fault(Exception("Expected `float | null`, got `str` - at `$.scores[0].low`"))
    '`scores[0].low` is text, not a number or null'
    >>> shape_fault(Exception("Object missing required field `id` - at `$.run`"))
    '`run.id` is missing'
    >>> shape_fault(Exception("Expected `str`, got `int` - at `key` in `$.metadata`"))
    'a key of `metadata` is a whole number, not text'
    """
    text = str(error)
    at = re.search(_AT, text)
    where = at[2] if at else ""
    what = text[: at.start()] if at else text
    named = f"`{where}`" if where else "it"
    named = f"a key of {named}" if at and at[1] else named
    for pattern, verb in ((_MISSING, "is missing"), (_UNKNOWN, "is not known")):
        match = pattern.match(what)
        if match is not None:
            return f"`{where}{'.' * bool(where)}{match[1]}` {verb}"
    match = re.match(_VALUE, what)
    if match is not None:
        return f"{named} is {match[1]}, which is not allowed"
    match = re.match(_EXPECTED, what)
    if match is None:
        return f"{named} has the wrong type" if where else "it has the wrong type"
    expected = " or ".join(_KINDS.get(kind, kind) for kind in match[1].split(" | "))
    if match[2] is None:
        return f"{named} can't have this value"
    return f"{named} is {_KINDS.get(match[2], match[2])}, not {expected}"
