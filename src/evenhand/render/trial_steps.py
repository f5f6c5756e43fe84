"""A settled trial's steps: what was kept of them, with what the run file has of its model calls and recorded tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from evenhand.core.encoding import decode
from evenhand.core.run import CallRecord, ToolRecord, TrialResult, ended
from evenhand.core.step import Step, record_of
from evenhand.core.timeline import StepNote, kind_asked, steps_from, told
from evenhand.providers.journaled import journaled_reply
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
        name=end.model or start.provider,
        result=told(reply),
        status="ok",
        duration_s=end.latency_s if step.duration_s is None else step.duration_s,
        tokens_in=end.tokens_in,
        tokens_out=end.tokens_out,
        cost_usd=end.cost_usd,
    )
    return StepNote(answered, reply.tool_calls, start.identity, inner=reply.steps)
