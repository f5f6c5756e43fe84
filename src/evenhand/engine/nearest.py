"""How a request differs from the nearest one that was recorded, in a sentence.

What was recorded is data: it is quoted as JSON, cut to a few characters around the first difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from evenhand.core.encoding import decode
from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.record import Record

CONTEXT = 16
SHOWN = 48
_BODY = "body."
_MISSING = object()


def likeness(one: bytes, other: bytes) -> float:
    """How much of two requests is the same at their beginnings and ends, from 0 to 1; 1 for two empty ones."""
    longest = max(len(one), len(other))
    if not longest:
        return 1.0
    start = common_start(one, other)
    end = common_start(one[start:][::-1], other[start:][::-1])
    return (start + end) / longest


def common_start(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike. Slices are compared, which is a hundred times as fast as bytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class Difference(Record, frozen=True):
    """Where two requests differ.

    Attributes:
        path: The value: `messages[1].content`.
        character: The first one that differs, from 1; 0 where they are no texts.
        recorded: What was recorded there, as JSON; empty where there was nothing.
        now: What there is now; the same.
        more: How many other values differ.
    """

    path: str
    character: int
    recorded: str
    now: str
    more: int = 0

    def __str__(self) -> str:
        where = f"{self.path}, character {self.character:,}" if self.character else self.path
        recorded = self.recorded or "nothing"
        rest = f"; {self.more:,} more {'value differs' if self.more == 1 else 'values differ'}"
        return f"{where}: {recorded} recorded, {self.now or 'nothing'} now" + rest * bool(self.more)


def difference(recorded: bytes, now: bytes) -> Difference | None:
    """The first difference of two canonical requests; None where there is none.

    Texts of the conversation come before settings, as they stand in the body.
    """
    before, after = dict(_values(recorded)), dict(_values(now))
    paths = [
        path
        for path in dict.fromkeys((*after, *before))
        if before.get(path, _MISSING) != after.get(path, _MISSING)
    ]
    if not paths:
        return None
    paths.sort(key=lambda path: not path.startswith(_BODY))  # stable: the body's own order stays
    first = paths[0]
    old, new = before.get(first, _MISSING), after.get(first, _MISSING)
    name = first.removeprefix(_BODY) or "the request"
    more = len(paths) - 1
    if isinstance(old, str) and isinstance(new, str):
        at = _first_unlike(old, new)
        return Difference(name, at + 1, _around(old, new, at), _around(new, old, at), more)
    return Difference(name, 0, _whole(old), _whole(new), more)


def _values(identity: bytes) -> Iterator[tuple[str, object]]:
    try:
        value = decode(identity)
    except ValueError:
        value = identity.decode("utf-8", "replace")
    return _leaves(value, "")


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    if is_object(value) and value:
        items: Iterable[tuple[str, object]] = value.items()
        for key, item in items:
            yield from _leaves(item, f"{path}.{key}" if path else key)
    elif is_array(value) and value:
        for i, item in enumerate(value):
            yield from _leaves(item, f"{path}[{i}]")
    else:
        yield path, value


def _first_unlike(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    shorter = min(len(one), len(other))
    return next((i for i, (a, b) in enumerate(pairs) if a != b), shorter)


def _around(text: str, other: str, at: int) -> str:
    """The part of a text that differs from another's, with a few characters before it."""
    alike = _first_unlike(text[at:][::-1], other[at:][::-1])
    end = max(at + 1, len(text) - alike)
    start = max(0, at - CONTEXT)
    cut = text[start : min(end + CONTEXT, start + SHOWN)]
    left = "…" if start else ""
    right = "…" if start + len(cut) < len(text) else ""
    return json.dumps(f"{left}{cut}{right}", ensure_ascii=False)


def _whole(value: object) -> str:
    if value is _MISSING:
        return ""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
