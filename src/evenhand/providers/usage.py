"""Tokens, as vendors count them in their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.message import Usage
from evenhand.providers.chat import MANY


def counted(
    answer: object, tokens_in: str, tokens_out: str, cached: str = "", *, at: str = "usage"
) -> Usage:
    """The tokens of an answer; None for what it does not say, or what cannot be a number of tokens.

    Args:
        tokens_in: What the vendor calls those that it read.
        tokens_out: Those that it wrote.
        cached: Those that it had read before; a dot leads further in.
        at: Where in the answer the counts are; empty for the answer itself.
    """
    whole = mapping(answer)
    counts = mapping(whole.get(at)) if at else whole
    inner, _, last = cached.rpartition(".")
    return Usage(
        number(counts.get(tokens_in)),
        number(counts.get(tokens_out)),
        number((mapping(counts.get(inner)) if inner else counts).get(last)),
    )


def number(value: object) -> int | None:
    """A number of tokens; None for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MANY:
        return None
    return int(value)


def mapping(value: object) -> Mapping[str, Any]:
    """A part of an answer that should be an object; empty where it is not."""
    return value if is_mapping(value) else {}


def listed(value: object) -> Sequence[Any]:
    """A part of an answer that should be a list; empty where it is not."""
    return value if is_array(value) else ()
