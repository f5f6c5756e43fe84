"""A trace as a trial: what went in, what came out, what it took, and its steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.core.run import AnswerDetails, TrialError, TrialResult
from evenhand.doors.spans.assembling import AssembledTrace
from evenhand.doors.spans.messages import Said, as_json
from evenhand.doors.spans.span import SpanStep

LONGEST_REASON = 2_000


def trial_of(
    trace: AssembledTrace, id_: str, case: str, index: int, variant: int, repeat: int, service: str
) -> TrialResult:
    """The trial that a trace is. Nothing has judged it: its outcome is not_applicable, or error where its root failed.

    Args:
        trace: The trace.
        id_: Its id.
        case: The case's.
        index: Its place in the run.
        variant: The variant's.
        repeat: From 0.
        service: The program that it is of.
    """
    models = [one for one in trace.spans if one.kind == "model"]
    last = trace.answers[-1] if trace.answers else None
    failed = trace.root is not None and trace.root.status == "error"
    reason = _reason(trace.root) if failed else "nothing has judged this trace"
    first = next((one for one in trace.steps if one.kind == "model" and one.arguments), None)
    messages: list[Said] = first.arguments["messages"] if first is not None else []
    return TrialResult(
        index=index,
        case=case,
        variant=variant,
        repeat=repeat,
        outcome="error" if failed else "not_applicable",
        score=None,
        output=_output(trace),
        reason=reason,
        error=TrialError("imported", reason) if failed else None,
        latency_s=trace.seconds,
        cost_usd=_sum([one.cost_usd for one in models]),
        tokens_in=_count([one.tokens_in for one in models]),
        tokens_out=_count([one.tokens_out for one in models]),
        prompt=as_json(messages) if messages else "",
        metadata={"trace": _about(trace, id_, service)},
        answer=AnswerDetails(
            id=last.response if last else "",
            model=last.name if last else "",
            finish_reason=last.finish if last else "",
        ),
        input=_input(trace, messages),
        steps=trace.steps,
    )


def _reason(root: SpanStep | None) -> str:
    text = " ".join(root.error.split())[:LONGEST_REASON] if root is not None else ""
    return text or "the trace ended in an error, and does not say which"


def _input(trace: AssembledTrace, messages: Sequence[Said]) -> Any:
    """What the whole was given, else what users said in the first call."""
    if trace.root is not None and trace.root.kind != "model" and trace.root.arguments is not None:
        return trace.root.arguments
    texts = [one.get("content") for one in messages if one.get("role") == "user"]
    return None if not texts else texts[0] if len(texts) == 1 else texts


def _output(trace: AssembledTrace) -> Any:
    """What came of the whole, else the last answer with a text, else the last answer."""
    if trace.root is not None and trace.root.kind != "model" and trace.root.result is not None:
        return trace.root.result
    top = [one for one in trace.answers if one.answer]
    texts = [
        one.answer["content"] for one in top if one.answer and one.answer.get("content") is not None
    ]
    if texts:
        return texts[-1]
    return top[-1].answer if top else None


def _about(trace: AssembledTrace, id_: str, service: str) -> dict[str, Any]:
    about: dict[str, Any] = {"id": id_}
    if trace.root is not None and trace.root.id.strip():
        about["span"] = trace.root.id
    if service:
        about["service"] = service
    about["dialects"] = sorted({one.dialect for one in trace.spans if one.dialect})
    if trace.start is not None:
        about["started_at"] = trace.start / 1e9
    for one in trace.spans:
        for name, value in one.about.items():
            about.setdefault(name, value)
    about.pop("case", None)
    return about


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum of the values; None where one of them is not known, or there is none."""
    known = [one for one in values if one is not None]
    return sum(known) if known and len(known) == len(values) else None


def _count(values: Sequence[int | None]) -> int | None:
    known = [one for one in values if one is not None]
    return sum(known) if known else None
