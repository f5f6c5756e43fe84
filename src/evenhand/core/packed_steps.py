"""Steps as rows of bytes, in run files and between processes: some hundreds in a row, compressed."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from evenhand.core.encoding import decode, encode
from evenhand.core.secrets import Secrets
from evenhand.core.step import Step

STEPS, BYTES = 500, 4_000_000
"""A row has at most so many steps, and ends with the first that takes it over so many bytes."""
VALUE = 1_000_000
"""Bytes of a step's arguments, or of its result, that are kept as they are; of more, the head and the tail as text."""
_END = 10_000
_WHOLE = 200_000_000
"""Bytes that a row is read to: one that says it holds more is damaged."""
_DEFAULTS = Step.__struct_defaults__
_EMPTY = dict(zip(Step.__struct_fields__[-len(_DEFAULTS) :], _DEFAULTS, strict=True))


def written_steps(steps: Sequence[Step], secrets: Secrets) -> Iterator[tuple[int, bytes]]:
    """The rows that steps are written in, each by the place of its first. No steps: no rows."""
    texts: list[bytes] = []
    size = 0
    for place, step in enumerate(steps):
        text = secrets.without(_text(step))
        texts.append(text)
        size += len(text)
        if len(texts) == STEPS or size >= BYTES or place + 1 == len(steps):
            yield place + 1 - len(texts), zlib.compress(b"[" + b",".join(texts) + b"]", 6)
            texts.clear()
            size = 0


def read_steps(rows: Sequence[bytes]) -> tuple[Step, ...]:
    """The steps of rows that `written_steps` made, in their order.

    Raises:
        ValueError: A row is damaged.
    """
    return tuple(
        msgspec.convert(step, Step)
        for data in rows
        for step in cast("list[Any]", decode(_unpacked(data)))
    )


def _unpacked(data: bytes) -> bytes:
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(data, _WHOLE)
    except zlib.error as error:
        raise ValueError(f"steps cannot be unpacked: {error}") from None
    if not reader.eof:
        raise ValueError("steps cannot be unpacked: they end too early, or are too many")
    return text


def _text(step: Step) -> bytes:
    """A step as JSON, without what is empty. What has no form in JSON is told in Python's words."""
    values = {name: v for name, v in _fields(step).items() if v != _EMPTY.get(name, ...)}
    return encode({**values, "kind": step.kind, "name": step.name}, ordered=False)


def _fields(step: Step) -> dict[str, Any]:
    values = {name: getattr(step, name) for name in Step.__struct_fields__}
    for name, value in values.items():
        if name in ("arguments", "result"):
            values[name] = _bounded(value)
        elif isinstance(value, float) and not math.isfinite(value):
            values[name] = None
    return values


def _bounded(value: Any) -> Any:
    if value is None:
        return None
    try:
        text = encode(value, ordered=False)
    except Exception:  # noqa: BLE001 (an object of the user's may raise anything while it is written)
        return _shown(value)
    if len(text) <= VALUE:
        return value
    words = value if isinstance(value, str) else text.decode("utf-8", "replace")
    left = len(words) - 2 * _END
    return (
        f"{words[:_END]}\n… {left:,} characters left out …\n{words[-_END:]}" if left > 0 else words
    )


def _shown(value: object) -> str:
    try:
        return repr(value)[:_END]
    except Exception:  # noqa: BLE001 (as above)
        return f"<{type(value).__name__}>"
