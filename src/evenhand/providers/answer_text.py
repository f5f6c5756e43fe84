"""Whether an answer of the right shape holds an answer: text, if only an empty one, or a reason for saying nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import BadReply

_REASONS = frozenset({"length", "content_filter"})
"""Why a vendor may send no text at all: it was cut off before the first word, or held back."""


BROKEN_OFF = frozenset({"error", "failed", "cancelled", "in_progress", "queued"})
"""Finish reasons of answers that the vendor did not finish, whatever text there is already."""


class NoAnswer(BadReply):
    """A reply of the right shape without an answer in it: no text, no tool call, no refusal."""


def answer_text(text: str | None, finish_reason: str, where: str) -> str:
    """The text of an answer. One that was cut off or held back before its first word is empty.

    Args:
        text: The text; None where the reply has none, which is not the same as an empty one.
        finish_reason: In the words that all vendors are mapped to.
        where: Where in the reply the text should be.

    Raises:
        NoAnswer: There isn't text, and the vendor does not say why.
    """
    if text is not None:
        return text
    if finish_reason in _REASONS:
        return ""
    ended = f"; it ended with {finish_reason!r}" if finish_reason else ""
    raise NoAnswer(f"the reply holds no answer: there isn't text in {where}{ended}", billed=None)


def broken_off(finish_reason: str, body: bytes) -> BadReply:
    """The error for an answer that the vendor did not finish.

    Args:
        finish_reason: One of BROKEN_OFF.
        body: The answer's JSON. Gateways give the reason beside the choices, or in the first of them.
    """
    answer = _mapping(decode(body))
    choices = answer.get("choices")
    first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
    error = answer.get("error") or _mapping(first).get("error")
    reason = _mapping(error).get("message") or error
    words = reason if isinstance(reason, str) else encode(reason).decode() if reason else ""
    why = f": {words:.300}" if words else ""
    return BadReply(
        f"the vendor broke off its answer, which ended with {finish_reason!r}{why}", billed=None
    )


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
