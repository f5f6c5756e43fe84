"""A settled trial's steps and model calls: what was kept of them, and their rows in documents, whole or cut."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import Any

from msgspec import UNSET

from evenhand.core.document import filled
from evenhand.core.encoding import decode, encode
from evenhand.core.run import CallRecord, ToolRecord, TrialResult, ended
from evenhand.core.step import Step, record_of
from evenhand.core.timeline import StepNote, kind_asked, steps_from, told, who_answered
from evenhand.core.wording.ink import Ink
from evenhand.providers.journaled import journaled_reply
from evenhand.render.outcome import wrapped
from evenhand.render.trial_document import RunCall, RunStep
from evenhand.store.runfile import RunFile


def steps_of(run: RunFile, trial: TrialResult) -> list[Step]:
    """A trial's steps in the order in which they began; times count from the first of them.

    Those of a run file of a version before 9, which kept none, are its model calls and its recorded tools, as far as
    their order can be told. None for a trial that asked no model and reported nothing, or whose result was taken from
    an earlier run.

    Raises:
        StoreError: The file cannot be read.
    """
    calls = {
        record_of("call", call.start.key, call.start.nth): call
        for call in _telling(run.calls_of(trial))
    }
    tools = {record_of("tool", one.key, one.nth): one for one in run.tools(trial.index)}
    stored = run.kept_steps(trial.index)
    if stored is None:
        stored = list(_unordered(calls, tools))
    return steps_from([_whole(step, calls, tools) for step in stored])


def _telling(calls: Iterable[CallRecord]) -> Iterator[CallRecord]:
    """The subject's calls; of one that was made again the answered one, or else the last, comes last."""
    mine = [call for call in calls if call.start.role == "subject"]
    yield from (call for call in mine if call.end is None or call.end.error)
    yield from (call for call in mine if call.end is not None and not call.end.error)


def _unordered(calls: dict[str, CallRecord], tools: dict[str, ToolRecord]) -> Iterator[Step]:
    """Calls as they began, then tools: of neither is it known when. With one call, it began when the trial did."""
    alone = len(calls) == 1 and not tools
    for record, call in calls.items():
        seconds = call.end.latency_s if call.end else None
        yield Step(
            kind_asked(call.start.identity),
            "",
            duration_s=seconds,
            started_s=0.0 if alone else None,
            record=record,
        )
    for record, tool in tools.items():
        yield Step("tool", tool.name, record=record)


def _whole(step: Step, calls: dict[str, CallRecord], tools: dict[str, ToolRecord]) -> StepNote:
    if step.record in tools:
        tool = tools[step.record]
        return StepNote(replace(step, arguments=decode(tool.arguments), **ended(tool)))
    call = calls.get(step.record)
    if call is None:
        return StepNote(step)
    start, end = call.start, call.end
    if end is None or end.error:
        error = "in doubt: its result is unknown" if end is None else end.message
        failed = replace(step, name=start.provider, status="error", error=error)
        return StepNote(failed, request=start.identity)
    reply = journaled_reply(start.identity, end.body)
    answered = replace(
        step,
        kind=who_answered(step.kind, reply),
        name=end.model or start.provider,
        result=told(reply),
        status="ok",
        duration_s=end.latency_s if step.duration_s is None else step.duration_s,
        tokens_in=end.tokens_in,
        tokens_out=end.tokens_out,
        cost_usd=end.cost_usd,
    )
    return StepNote(answered, reply.tool_calls, start.identity, inner=reply.steps)


STEPS, TEXT = 200, 1_000
"""Of a trial among many: so many steps, and characters of a step's arguments and of its result."""


def step_row(step: Step) -> RunStep:
    """A step, in the keys of the document."""
    return filled(
        RunStep,
        step,
        started_s=_rounded(step.started_s),
        duration_s=_rounded(step.duration_s),
        cut=UNSET,
    )


def step_rows(run: RunFile, trial: TrialResult) -> list[RunStep]:
    """All steps of a trial."""
    return [step_row(step) for step in steps_of(run, trial)]


def bounded_steps(run: RunFile, trial: TrialResult, stepped: Container[int]) -> dict[str, Any]:
    """What a trial among many is told of its steps: `steps`, and `more_steps` where there are more of them.

    Args:
        trial: One of its trials.
        stepped: The places of the trials that have steps of their own (`RunFile.stepped`). The others did nothing but
            ask once, which their prompt and output say.
    """
    if trial.index not in stepped:
        return {}
    steps = steps_of(run, trial)
    rows: dict[str, Any] = {"steps": [_cut(step_row(step)) for step in steps[:STEPS]]}
    return {**rows, "more_steps": len(steps) - STEPS} if len(steps) > STEPS else rows


def _cut(row: RunStep) -> RunStep:
    parts: dict[str, Any] = {}
    for name, value in (("arguments", row.arguments), ("result", row.result)):
        if value is None:
            continue
        text = value if isinstance(value, str) else encode(value, ordered=False).decode()
        if len(text) > TEXT:
            parts |= {name: text[:TEXT] + "…", "cut": True}
    return replace(row, **parts)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


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
    return filled(
        RunCall,
        call.known,
        role=start.role,
        provider=start.provider,
        request=as_json(start.identity),
        reply=as_json(end.body) if end and end.body else None,
        origin=end.origin if end else None,
    )
