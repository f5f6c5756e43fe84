"""Answers that fit into a conversation: bounded in size, with what others wrote kept apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.record import Record
from evenhand.core.wording.words import safe

LARGEST = 8_000
"""Bytes of an answer, as JSON in UTF-8."""
_ROOM = 600
"""Bytes that are left for the cursor and what to do next."""
_TEXT = 600
_PROBLEM = 1_200
_SHORT = 160

Answer = dict[str, Any]


class Refused(UsageError):
    """What a tool does not do, in our own words: it quotes nothing but the caller's own arguments."""


class Next(Record, frozen=True):
    """What makes sense next.

    Attributes:
        tool: The tool to call; empty for something else.
        why: What it brings, or what else to do.
    """

    tool: str
    why: str
    arguments: Mapping[str, Any] | None = None

    def row(self) -> dict[str, Any]:
        """As an answer has it."""
        if not self.tool:
            return {"do": self.why}
        return {"tool": self.tool, "arguments": dict(self.arguments or {}), "why": self.why}


def untrusted(value: object, most: int = _TEXT) -> dict[str, Any]:
    """What a model, a judge or a dataset wrote, marked as data. Line breaks stay; a long text loses its middle.

    Args:
        value: Text, or any JSON value.
        most: Characters that are kept.
    """
    return _marked(safe(_as_text(value), multiline=True), most)


def output_of(value: object, most: int) -> dict[str, Any] | None:
    """A trial's output, marked as data; None where there is none, as after an error. It may be the text `null`."""
    return None if value is None else untrusted(value, most)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _marked(text: str, most: int) -> dict[str, Any]:
    if len(text) <= most:
        return {"untrusted": text}
    head = most * 2 // 3
    ends = f"{text[:head]} […] {text[-(most - head) :]}"
    return {"untrusted": ends, "characters": len(text)}


def short(value: object) -> dict[str, Any]:
    """What a model, a judge or a dataset wrote, marked as data and cut to a line."""
    return _marked(safe(_as_text(value)), _SHORT)


def first_of(
    key: str, items: Sequence[Any], row: Callable[[Any], Any], most: int
) -> dict[str, Any]:
    """The first items of a list under a key, with how many there are wherever that is more."""
    content: dict[str, Any] = {key: [row(item) for item in items[:most]]}
    return content if len(items) <= most else {**content, f"{key}_in_all": len(items)}


def answer(content: Mapping[str, Any], following: Sequence[Next] = ()) -> Answer:
    """An answer with what to do next. Where it is too large, its longest texts are cut further, then its lists."""
    whole = {**content, "next": [one.row() for one in following]}
    most = _TEXT
    while _size(whole) > LARGEST and most > _SHORT // 4:
        most //= 2
        whole = _cut(whole, most)
    while _size(whole) > LARGEST and _halve_longest(whole):
        pass
    return whole


def refusal(error: EvenhandError, following: Sequence[Next]) -> Answer:
    """The answer where something cannot be done.

    Messages quote files and runs, so they are data, and so is the advice in them.

    Args:
        following: What makes sense next, in words of ours.
    """
    if isinstance(error, Refused):
        advice = [Next("", error.hint)] if error.hint else []
        return answer({"problem": error.message}, [*advice, *following])
    content: dict[str, Any] = {"problem": untrusted(error.message, _PROBLEM)}
    if error.hint:
        content["hint"] = untrusted(error.hint, _PROBLEM)
    return answer(content, following)


def page(
    content: Mapping[str, Any],
    key: str,
    items: Iterable[Mapping[str, Any]],
    start: int,
    following: Sequence[Next] = (),
) -> Answer:
    """An answer with as many items of a list as there is room for, and a cursor where there are more.

    Args:
        items: All of them; they are read as far as needed.
        start: How many of them to skip: the cursor of the answer before.
    """
    whole = answer(content, following)
    left = LARGEST - _ROOM - _size(whole)
    taken: list[Mapping[str, Any]] = []
    cursor: int | None = None
    for place, item in enumerate(items):
        if place < start:
            continue
        size = _size(item) + 2
        if taken and size > left:
            cursor = place
            break
        left -= size
        taken.append(item)
    return {**whole, key: taken, "cursor": cursor}


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace"))


def _cut(value: Any, most: int) -> Any:
    """A JSON value with all marked texts in it cut to a length."""
    if isinstance(value, dict):
        if isinstance(value.get("untrusted"), str):
            cut = untrusted(value["untrusted"], most)
            return {**cut, "characters": value.get("characters", len(value["untrusted"]))}
        return {key: _cut(part, most) for key, part in value.items()}
    if isinstance(value, list):
        return [_cut(part, most) for part in value]
    return value[: 8 * most] if isinstance(value, str) else value


def _halve_longest(whole: dict[str, Any]) -> bool:
    """Leaves out the second half of the largest list or text at the top; whether there was one."""
    parts = {k: v for k, v in whole.items() if isinstance(v, (list, str)) and len(v) > 1}
    if not parts:
        return False
    key = max(parts, key=lambda name: _size(parts[name]))
    whole[key] = parts[key][: len(parts[key]) // 2]
    whole.setdefault("left_out", [])
    if key not in whole["left_out"]:
        whole["left_out"] = [*whole["left_out"], key]
    return True
