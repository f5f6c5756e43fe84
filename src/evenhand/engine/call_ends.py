"""What the journal says of a call that has ended."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping

from evenhand.core.encoding import decoded, encode
from evenhand.core.errors import BudgetStop, ProviderError
from evenhand.core.json_shapes import as_mapping
from evenhand.core.message import Reply
from evenhand.core.run import CUT_OFF, EMPTY, CallEnd
from evenhand.core.secrets import known

_MEANT = ("content-type", "retry-after")  # headers of an error that an application may go by


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


def failed(error: ProviderError | BudgetStop, *, attempts: int, wasted: int) -> CallEnd:
    """The end of a call that has none, with what an application that asked by itself was given in its place.

    Args:
        attempts: How many times it was sent.
        wasted: How many of those may have been charged for in vain.
    """
    answer = error.answer if isinstance(error, ProviderError) else None
    return CallEnd(
        body=b"" if answer is None else _packed(*answer),
        origin="provider",
        attempts=attempts,
        wasted=wasted,
        error=error.slug,
        message=error.message,
    )


def _packed(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    body = known.without(body)
    try:
        content = {"body": body.decode()}
    except UnicodeDecodeError:
        content = {"base64": b64encode(body).decode()}
    meant = {name: value for name in _MEANT if (value := headers.get(name)) is not None}
    return encode({"status": status, "headers": meant, **content})


def answer_of(end: CallEnd) -> tuple[int, Mapping[str, str], bytes] | None:
    """Status, headers and body that an application was given for a call that ended in an error; None for none."""
    answer = as_mapping(decoded(end.body)) if end.error else {}
    status, headers = answer.get("status"), as_mapping(answer.get("headers"))
    if not isinstance(status, int):
        return None
    text, packed = answer.get("body"), answer.get("base64")
    body = b64decode(packed) if isinstance(packed, str) else str(text or "").encode()
    return status, {str(name): str(value) for name, value in headers.items()}, body


def worth_keeping(reply: Reply) -> bool:
    """Whether another run may be given this reply: not what was cut off, refused or empty."""
    answer = reply.text or reply.output  # a vector has no text
    return not reply.refused and reply.finish_reason != "length" and answer not in ("", None)


def _oddity(reply: Reply) -> str:
    """What the journal says of an answer without text; empty for any other answer, and for what isn't text."""
    if not isinstance(reply.output, str) or reply.text.strip():
        return ""
    return CUT_OFF if reply.finish_reason == "length" else EMPTY
