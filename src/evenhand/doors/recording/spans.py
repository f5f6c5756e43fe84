"""OpenTelemetry spans of the application under test as steps of the trial that they are made in.

    provider = TracerProvider()
    provider.add_span_processor(recording.SpanProcessor())

How this works: a span becomes a step when it starts, in the trial of the current context or of its parent span. When it
ends, its attributes say what it was. A span that is no step, such as an HTTP request, is dropped. So is the span of a
model call or a tool call that the run itself recorded: the record says more.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.step import Step, StepStatus
from evenhand.core.step_recorder import StepLog, elsewhere
from evenhand.doors.spans.assembling import asked_anew
from evenhand.doors.spans.messages import Said
from evenhand.doors.spans.span import RawSpan, SpanEvent, kept_value
from evenhand.doors.spans.span_to_step import read_span
from evenhand.engine.strays import trial_here
from evenhand.engine.trial import LiveTrial

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

try:
    from opentelemetry import trace as _api
    from opentelemetry.sdk.trace import SpanProcessor as _SpanProcessor
except ImportError as error:
    raise UsageError(
        f"recording.SpanProcessor needs OpenTelemetry's SDK, which is not installed: {error}",
        hint="pip install 'evenhand[otel]'",
    ) from None

_STATUSES: Mapping[str, StepStatus] = {"OK": "ok", "ERROR": "error"}


class _OpenSpan(Record, frozen=True):
    trial: LiveTrial
    log: StepLog
    place: int


class SpanProcessor(_SpanProcessor):
    """Makes spans steps. Outside of trials it does nothing, and it sends nothing anywhere."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, _OpenSpan] = {}
        self._asked: WeakKeyDictionary[StepLog, dict[int | None, list[Said]]] = WeakKeyDictionary()
        elsewhere.append(self._place_in)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Notes a step."""
        del parent_context
        context = span.get_span_context()
        parent = span.parent
        around = self._open.get(parent.span_id) if parent is not None else None
        trial = trial_here()
        if (trial is None or trial.over) and around is not None:
            trial = around.trial  # in a thread that has no context of its own
        if trial is None or trial.over:
            return
        log = trial.step_log
        # The parent span may be a step of another log, in which its place means another step.
        beside = around.place if around is not None and around.log is log else None
        places = [place for place in (log.within(), beside) if place is not None]
        # Steps are added when they begin, so the later of two places is the inner one.
        place = log.add(Step("agent", span.name, parent=max(places, default=None)))
        with self._lock:
            self._open[context.span_id] = _OpenSpan(trial, log, place)

    def on_end(self, span: ReadableSpan) -> None:
        """Says what the step was, or takes it back."""
        context = span.get_span_context()
        with self._lock:
            opened = self._open.pop(context.span_id, None) if context is not None else None
        if opened is None or opened.trial.over:
            return
        log, place = opened.log, opened.place
        step = read_span(_raw(span))
        parent = log[place].parent
        recorded = step.kind in ("model", "tool") and (
            log.holds_record(place) or (parent is not None and bool(log[parent].record))
        )
        if step.kind is None or recorded:
            log.drop(place)
            return
        arguments, result = step.arguments, step.result
        if step.kind == "model":
            arguments = self._new(log, parent, step.request)
            result = step.answer.get("content") if step.answer else None
        log.end(
            place,
            kind=step.kind,
            name=step.name,
            arguments=arguments,
            result=result,
            status=step.status,
            error=step.error,
            agent=step.agent if step.kind != "agent" else "",
            tokens_in=step.tokens_in,
            tokens_out=step.tokens_out,
            cost_usd=step.cost_usd,
            call=step.call,
            **_took(span),
        )

    def shutdown(self) -> None:
        """Takes no more spans."""
        if self._place_in in elsewhere:
            elsewhere.remove(self._place_in)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """There is nothing that waits."""
        del timeout_millis
        return True

    def _place_in(self, log: StepLog) -> int | None:
        """The place of the current span's step, where it is one of this trial's."""
        opened = self._open.get(_api.get_current_span().get_span_context().span_id)
        return opened.place if opened is not None and opened.log is log else None

    def _new(
        self, log: StepLog, parent: int | None, asked: list[Said] | None
    ) -> dict[str, Any] | None:
        if asked is None:
            return None
        with self._lock:
            conversations = self._asked.setdefault(log, {})
            new = asked_anew(conversations.get(parent, []), asked, 0)
            conversations[parent] = asked
        return new


def _took(span: ReadableSpan) -> dict[str, float]:
    start, end = span.start_time, span.end_time
    return (
        {} if start is None or end is None or end < start else {"duration_s": (end - start) / 1e9}
    )


def _raw(span: ReadableSpan) -> RawSpan:
    context = span.get_span_context()
    scope = span.instrumentation_scope
    return RawSpan(
        trace=f"{context.trace_id:032x}" if context else "",
        id=f"{context.span_id:016x}" if context else "",
        name=span.name,
        start=span.start_time,
        end=span.end_time,
        status=_STATUSES.get(span.status.status_code.name, "unknown"),
        error=kept_value(span.status.description or ""),
        attributes=kept_value(dict(span.attributes or {})),
        events=[SpanEvent(one.name, kept_value(dict(one.attributes or {}))) for one in span.events],
        scope=scope.name if scope else "",
    )
