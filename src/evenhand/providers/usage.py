"""Tokens, as vendors count them in their answers."""

from __future__ import annotations

from evenhand.core.json_shapes import as_mapping, is_number
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
    whole = as_mapping(answer)
    counts = as_mapping(whole.get(at)) if at else whole
    inner, _, last = cached.rpartition(".")
    return Usage(
        number(counts.get(tokens_in)),
        number(counts.get(tokens_out)),
        number((as_mapping(counts.get(inner)) if inner else counts).get(last)),
    )


def number(value: object) -> int | None:
    """A number of tokens; None for what cannot be one."""
    if type(value) is not int:  # nearly all are
        value = int(value) if is_number(value) and 0 <= value < MANY else -1
    return value if 0 <= value < MANY else None
