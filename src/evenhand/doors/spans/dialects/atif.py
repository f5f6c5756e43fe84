"""Harbor's Agent Trajectory Interchange Format: its steps, named as attributes by our reader of its files."""

from __future__ import annotations

from evenhand.doors.spans.dialects.dialect import Dialect
from evenhand.doors.spans.messages import Said
from evenhand.doors.spans.span import RawSpan

PREFIX = "atif."


def request(span: RawSpan) -> list[Said] | None:
    """The messages that a model was sent: those before its step."""
    return span.attributes.get(f"{PREFIX}asked")


def answered(span: RawSpan) -> Said | None:
    """The message that a model answered."""
    return span.attributes.get(f"{PREFIX}answer")


DIALECT = Dialect(
    name="ATIF",
    version="1.0 to 1.7",
    signs=(f"{PREFIX}kind",),
    kind=f"{PREFIX}kind",
    kinds={"model": "model", "tool": "tool", "agent": "agent", "message": "message"},
    names={},
    fields={
        "arguments": (f"{PREFIX}arguments",),
        "result": (f"{PREFIX}result",),
        "tokens_in": (f"{PREFIX}prompt_tokens",),
        "tokens_out": (f"{PREFIX}completion_tokens",),
        "cost": (f"{PREFIX}cost_usd",),
        "earlier": (f"{PREFIX}earlier",),
        "call": (f"{PREFIX}tool_call_id",),
    },
    request=request,
    answered=answered,
    about={"session": f"{PREFIX}session_id", "version": f"{PREFIX}version"},
)
