"""The model calls of a trial: what was asked and what came back, as the journal has them, which is without secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator

from evenhand.core.encoding import decode
from evenhand.core.run import CallRecord, TrialResult
from evenhand.core.wording.ink import Ink
from evenhand.render.outcome import wrapped
from evenhand.render.trial_document import RunCall
from evenhand.store.runfile import RunFile

LINES = 200


def call_rows(run: RunFile, trial: TrialResult) -> list[RunCall]:
    """A trial's calls in the order in which they were begun, in the keys of the document.

    `origin` is null for a call that is in flight, or in doubt: nobody knows what became of it.
    """
    return [_row(call) for call in run.calls_of(trial)]


def text_lines(call: CallRecord, width: int, ink: Ink) -> Iterator[str]:
    """What a call asked and was answered, for people."""
    texts = (("request", call.start.identity), ("reply", call.end.body if call.end else b""))
    for title, data in texts:
        if data:
            yield f"      {ink(title, 'dim')}"
            value = as_json(data)
            text = (
                value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False)
            )
            yield from wrapped(text, width, "        ", LINES)


def as_json(data: bytes) -> object:
    """A request or a reply: what its JSON says, or its text where it is none, as of a stream."""
    try:
        return decode(data)
    except ValueError:
        return data.decode("utf-8", "replace")


def _row(call: CallRecord) -> RunCall:
    start, end = call.start, call.end
    return RunCall(
        role=start.role,
        provider=start.provider,
        model=end.model if end else "",
        request=as_json(start.identity),
        reply=as_json(end.body) if end and end.body else None,
        origin=end.origin if end else None,
        latency_s=end.latency_s if end else None,
        first_byte_s=end.first_byte_s if end else None,
        queued_s=end.queued_s if end else None,
        tokens_in=end.tokens_in if end else None,
        tokens_out=end.tokens_out if end else None,
        cost_usd=end.cost_usd if end else None,
        attempts=end.attempts if end else 0,
        error=end.error if end else "",
        message=end.message if end else "",
    )
