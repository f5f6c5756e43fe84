"""What can be graded as an output, and what to say of what can't: None, an SDK's object, a stream that wasn't read."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from enum import Enum
from typing import Any, cast

from evenhand.core.encoding import refuse_nan
from evenhand.core.errors import ScoreError
from evenhand.core.json_shapes import is_mapping

_VALUES = (bool, int, float, str, Mapping, list, tuple, AbstractSet, date, time, timedelta, Enum)
_MORE = frozenset({("decimal", "Decimal"), ("uuid", "UUID")})
"""What JSON has a form for; those whose modules would have to be imported, by name."""
_HOLDERS = (Mapping, list, tuple, AbstractSet)
_PLACES = (
    "content",
    "output_text",
    "text",
    "choices[0].message.content",
    "content[0].text",
    "message.content",
    "output",
    "final_output",
    "response",
    "answer",
    "result",
    "data",
)
"""Where the SDKs of vendors and frameworks hold the text of an answer."""
_WORDS = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
_SPELT = r"[AEFHILMNORSX][A-Z]|[AEIOaeio]"
"""A name that is read with "an": an AIMessage, an Answer, an LLMResult."""


def need_value(output: object) -> None:
    """Refuses what is no value of JSON, and None: nothing was answered.

    Raises:
        ScoreError: It is neither a text, nor a number, a bool, a list or a dict; or such a one holds something else.
    """
    if output is None or (isinstance(output, float) and not math.isfinite(output)):
        name = "NaN" if output is not None and math.isnan(output) else str(output)
        raise ScoreError(
            f"got {name}, not a text: there is no output to judge",
            hint="A function without a `return` gives None. Where nothing is right, write "
            'expect(value is None, "…").',
        )
    if not _is_value(output):
        what, hint = _refusal(output)
        raise ScoreError(f"got {what}", hint=hint)
    if isinstance(output, _HOLDERS):
        try:
            culprit = next(_foreign(output), None)
            # A foreign object would be refused here as well, with a message that says less.
            refuse_nan(None if culprit is not None else output)
        except (ValueError, RecursionError) as error:
            raise not_json(output, error) from error
        if culprit is not None:
            what, hint = _refusal(culprit)
            raise ScoreError(f"got {_named(output)} that holds {what}", hint=hint)


def _is_value(output: object) -> bool:
    kind = type(output)
    return isinstance(output, _VALUES) or (kind.__module__, kind.__name__) in _MORE


def not_json(output: object, error: Exception) -> ScoreError:
    """What to say of a list or a dict that can't be written as JSON."""
    return ScoreError(f"got {_named(output)}, not a text, that can't be written as JSON: {error}")


def _foreign(value: object) -> Iterator[object]:
    """What stands in a value, at any depth, and is none of JSON."""
    if is_mapping(value):
        value = list(value.values())
    if isinstance(value, _HOLDERS):
        for item in cast("Iterable[object]", value):
            yield from _foreign(item)
    elif value is not None and not _is_value(value):
        yield value


def _refusal(output: object) -> tuple[str, str]:
    """The kind of an output that is no text, with what was probably meant; and what to write instead."""
    kind, name = _named(output), _noun(output)
    if isinstance(output, (bytes, bytearray, memoryview)):
        return f"{kind}, not a text: did you mean {name}.decode()?", ""
    if isinstance(output, type):
        return f"the class {output.__name__}, not a text", "Give an answer, not its class."
    if inspect.isroutine(output):
        return f"{output.__name__}, a function that was not called", "Give what it returns."
    if inspect.isawaitable(output):
        return f"{kind} that was not awaited, not a text", "Write await …"
    place = next((place for place in _PLACES if isinstance(_at(output, place), str)), "")
    if place:
        what = f"{kind}, not a text: did you mean {name}.{place}?"
        return what, "Scorers of text look at the text alone."
    if callable(getattr(output, "tolist", None)):  # NumPy's, pandas' and PyTorch's
        return f"{kind}, not a text: did you mean output.tolist()?", ""
    if callable(getattr(output, "model_dump", None)):
        what = f"{kind}, not a text: did you mean {_fields_of(output, name)}?"
        return what, f"Give one of its fields, or all of them as a dict: {name}.model_dump()."
    if is_dataclass(output):
        what = f"{kind}, not a text: did you mean {_fields_of(output, name)}?"
        return what, f"Give one of its fields, or all of them as a dict: asdict({name})."
    if callable(getattr(output, "read", None)):
        return f"{kind}, which was not read, not a text: did you mean {name}.read()?", ""
    if isinstance(output, AsyncIterable):
        hint = "Write [piece async for piece in …], and join its pieces."
        return f"{kind}, a stream that was not read, not a text", hint
    if isinstance(output, Iterable):
        return f"{kind}, a stream that was not read, not a text", "Join its pieces."
    return f"{kind}, not a text", "Give its text, or a value of JSON: a number, a list or a dict."


def _fields_of(output: object, name: str) -> str:
    """The field that holds the only text of an object, or else all of it."""
    names = (
        [field.name for field in fields(cast("Any", output))]
        if is_dataclass(output)
        else list(cast("Mapping[str, object]", getattr(type(output), "model_fields", {})))
    )
    texts = [field for field in names if isinstance(_at(output, field), str)]
    if len(texts) == 1:
        return f"{name}.{texts[0]}"
    return f"asdict({name})" if is_dataclass(output) else f"{name}.model_dump()"


def _at(output: object, place: str) -> object:
    """What an object has at a place such as `choices[0].message.content`; None for nothing, or what can't be read."""
    value: object = output
    with suppress(Exception):  # a property of the user's or of an SDK may raise anything
        for step in place.split("."):
            name, _, index = step.partition("[")
            value = getattr(value, name)
            if index:
                value = cast("Sequence[object]", value)[0]
        return value
    return None


def _named(output: object) -> str:
    name = type(output).__name__
    if name == "bytes":
        return name
    return f"{'an' if re.match(_SPELT, name) else 'a'} {name}"


def _noun(output: object) -> str:
    """What a variable that holds it would be called: `message` for an AIMessage."""
    name = type(output).__name__
    words = re.findall(_WORDS, name)
    return words[-1].lower() if name[0].isupper() and len(words[-1]) > 2 else "output"
