"""A run's outcomes as OpenTelemetry events, `gen_ai.evaluation.result`, sent by the official exporter.

An event is linked to the span that was judged, where the trial was imported from a trace. Where to send them is said by
the standard variables, OTEL_EXPORTER_OTLP_ENDPOINT and so on.

The names are those of the GenAI semantic conventions 1.37 to 1.41. Who evaluated has no name there yet: ours are
`evenhand.evaluator.kind` (code, model or human) and `evenhand.evaluator.name`.
"""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.analysis.trust.beside_people import every_label
from evenhand.core.encoding import without_surrogates
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.json_shapes import as_mapping
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.version import __version__
from evenhand.store.labels.label import Label
from evenhand.store.runfile import RunFile
from evenhand.wings.traces.evaluations import EVENT, TRIAL, WHOLE

_BATCH = 500
_LONGEST = 10_000
_HERE = "http://localhost:4318"


@dataclass(frozen=True, slots=True)
class EvaluationEvent:
    """An event, before it is OpenTelemetry's.

    Attributes:
        at: Seconds since 1970.
        trace: The trace's id: 32 hexadecimal digits; empty for none.
        span: The span's: 16.
    """

    at: float
    trace: str
    span: str
    attributes: Mapping[str, str | float | int] = field(
        default_factory=dict[str, "str | float | int"]
    )


def events_of(run: RunFile) -> Iterator[EvaluationEvent]:
    """The events of a run: for each trial each outcome, the verdict, and what people said of it."""
    meta = run.meta
    at = meta.finished_at or meta.created_at
    people: dict[int, dict[tuple[str, str], Label]] = {}
    for label in every_label(run):
        if label.field == "verdict":
            people.setdefault(label.index, {})[label.author, label.metric] = label
    for trial in run.trials():
        trace, span = _place(trial)
        about: dict[str, str | float | int] = {
            "evenhand.run.id": meta.id,
            "evenhand.case.id": trial.case,
            "evenhand.variant": str(meta.variants[trial.variant]),
            "evenhand.repeat": trial.repeat,
        }
        if trial.answer.id:
            about["gen_ai.response.id"] = trial.answer.id
        models = {
            (call.start.key, call.start.nth): (call.end.model if call.end else "")
            or call.start.provider
            for call in (run.calls_of(trial) if any(one.rests_on for one in trial.outcomes) else ())
        }
        for outcome in trial.outcomes:
            yield EvaluationEvent(
                at, trace, span, {**_result(outcome), **about, **_evaluator(outcome, models)}
            )
        if trial.outcomes or trial.outcome != "not_applicable":
            yield EvaluationEvent(at, trace, span, {**_verdict(trial), **about})
        for (author, metric), label in people.get(trial.index, {}).items():
            if label.value in ("pass", "fail"):
                attributes = {
                    "gen_ai.evaluation.name": metric or WHOLE,
                    "gen_ai.evaluation.score.label": label.value,
                }
                who = {"evenhand.evaluator.kind": "human", "evenhand.evaluator.name": author}
                yield EvaluationEvent(label.at, trace, span, {**attributes, **about, **who})


def send(run: RunFile) -> tuple[int, str]:
    """Sends the events of a run; how many, and where.

    Raises:
        UsageError: OpenTelemetry is not installed, or there is nothing to send.
        StoreError: They could not be sent.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import (  # noqa: PLC0415 (on use)
            OTLPLogExporter,
        )
        from opentelemetry.sdk._logs import LoggerProvider  # noqa: PLC0415 (the same)
        from opentelemetry.sdk._logs.export import (  # noqa: PLC0415 (the same)
            InMemoryLogRecordExporter,
            LogRecordExportResult,
            SimpleLogRecordProcessor,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 (the same)
    except ImportError as error:
        raise UsageError(
            f"--to otlp needs OpenTelemetry's SDK and exporter, and they are not installed: {error}",
            hint="pip install 'evenhand[otel]'",
        ) from None
    where = address()
    memory = InMemoryLogRecordExporter()
    provider = LoggerProvider(Resource.create({"service.name": "evenhand"}), shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(memory))
    logger = provider.get_logger("evenhand", __version__)
    sent = 0
    with _overheard() as complaints:
        exporter = OTLPLogExporter()
        try:
            events = events_of(run)
            while batch := list(itertools.islice(events, _BATCH)):
                for event in batch:
                    _emit(logger, event)
                exported = exporter.export(memory.get_finished_logs())
                _sent(exported is LogRecordExportResult.SUCCESS, where, complaints)
                memory.clear()
                sent += len(batch)
        finally:
            exporter.shutdown()
    if not sent:
        raise UsageError("the run has no outcome to send: nothing has judged it")
    return sent, where


def address() -> str:
    """Where events go, as the standard variables say."""
    if own := os.environ.get("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"):
        return own
    return (os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or _HERE).rstrip("/") + "/v1/logs"


def _sent(success: bool, where: str, complaints: list[str]) -> None:
    if not success:
        why = f": {complaints[-1]}" if complaints else ""
        raise StoreError(
            f"the events could not be sent to {where}{why}",
            hint="OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS say where, and with which key.",
        )


def _emit(logger: Any, event: EvaluationEvent) -> None:
    from opentelemetry.context import Context  # noqa: PLC0415 (on use)
    from opentelemetry.trace import (  # noqa: PLC0415 (the same)
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    context = Context()
    if event.trace and event.span:
        place = SpanContext(
            int(event.trace, 16), int(event.span, 16), is_remote=True, trace_flags=TraceFlags(1)
        )
        context = set_span_in_context(NonRecordingSpan(place), context)
    logger.emit(
        timestamp=round(event.at * 1e9),
        event_name=EVENT,
        # OpenTelemetry leaves an attribute out, without an error, that UTF-8 can't hold.
        attributes={
            name: without_surrogates(value) if isinstance(value, str) else value
            for name, value in event.attributes.items()
        },
        context=context,
    )


def _place(trial: TrialResult) -> tuple[str, str]:
    """The ids of the trace and the span that the trial was imported from; empty where OpenTelemetry has no such ids."""
    about = trial.metadata.get("trace")
    fields = as_mapping(about)
    return _hex(fields.get("id"), 32), _hex(fields.get("span"), 16)


def _hex(value: object, length: int) -> str:
    if not isinstance(value, str) or len(value) != length or not value.strip("0"):
        return ""
    return value if all(char in "0123456789abcdef" for char in value) else ""


def _result(outcome: Outcome) -> dict[str, str | float | int]:
    attributes: dict[str, str | float | int] = {
        "gen_ai.evaluation.name": outcome.metric or outcome.name
    }
    if outcome.outcome == "error":
        attributes["error.type"] = outcome.error or "error"
    else:
        attributes["gen_ai.evaluation.score.label"] = outcome.outcome
    if outcome.score is not None:
        attributes["gen_ai.evaluation.score.value"] = outcome.score
    if outcome.reason:
        attributes["gen_ai.evaluation.explanation"] = outcome.reason[:_LONGEST]
    return attributes


def _verdict(trial: TrialResult) -> dict[str, str | float | int]:
    slug = trial.error.slug if trial.error else ""
    whole = Outcome(TRIAL, trial.outcome, trial.score, trial.reason, error=slug)
    return {
        **_result(whole),
        "evenhand.evaluator.kind": "code",
        "evenhand.evaluator.name": f"evenhand {__version__}",
    }


def _evaluator(outcome: Outcome, models: Mapping[tuple[str, int], str]) -> dict[str, str]:
    """Who evaluated: the models whose answers the outcome rests on, else a scorer's code."""
    judges = dict.fromkeys(models[call] for call in outcome.rests_on if models.get(call))
    if judges:
        return {"evenhand.evaluator.kind": "model", "evenhand.evaluator.name": ", ".join(judges)}
    return {"evenhand.evaluator.kind": "code", "evenhand.evaluator.name": outcome.name[:_LONGEST]}


class _overheard(logging.Handler):  # noqa: N801 (used as a context manager)
    """Inside, what the exporter logs goes into a list, and not to stderr."""

    def __init__(self) -> None:
        super().__init__()
        self._said: list[str] = []
        self._logger = logging.getLogger("opentelemetry")

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(" ".join(record.getMessage().split())[:300])

    def __enter__(self) -> list[str]:
        self._before = self._logger.propagate
        self._logger.propagate = False
        self._logger.addHandler(self)
        return self._said

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = self._before
