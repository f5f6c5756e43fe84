"""Whether an answer of the right shape holds an answer: text, if only an empty one, or a reason for saying nothing."""

from __future__ import annotations

from evenhand.core.errors import BadReply

_REASONS = frozenset({"length", "content_filter"})
"""Why a vendor may send no text at all: it was cut off before the first word, or held back."""


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
