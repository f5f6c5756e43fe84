"""What the journal says of a call that has ended."""

from __future__ import annotations

from evenhand.core.message import Reply
from evenhand.core.run import CUT_OFF, EMPTY, CallEnd


def ended(body: bytes, reply: Reply, *, attempts: int, wasted: int) -> CallEnd:
    """The end of a call that has a reply.

    Args:
        reply: What was read from it.
        attempts: How many times it was sent.
        wasted: How many of those may have been charged for in vain.
    """
    return CallEnd(
        body=body,
        origin=reply.origin,
        latency_s=reply.latency_s,
        tokens_in=reply.usage.tokens_in,
        tokens_out=reply.usage.tokens_out,
        cost_usd=reply.cost_usd,
        model=reply.model,
        attempts=attempts,
        wasted=wasted,
        message=_oddity(reply),
        first_byte_s=reply.first_byte_s,
        queued_s=reply.queued_s if reply.origin == "provider" else None,
    )


def worth_keeping(reply: Reply) -> bool:
    """Whether another run may be given this reply: not what was cut off, refused or empty."""
    answer = reply.text or reply.output  # a vector has no text
    return not reply.refused and reply.finish_reason != "length" and answer not in ("", None)


def _oddity(reply: Reply) -> str:
    """What the journal says of an answer without text; empty for any other answer, and for what isn't text."""
    if not isinstance(reply.output, str) or reply.text.strip():
        return ""
    return CUT_OFF if reply.finish_reason == "length" else EMPTY
