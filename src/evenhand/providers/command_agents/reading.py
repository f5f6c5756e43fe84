"""Which format a program's lines are in, and what they tell; also of a program that reports its own steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from evenhand.core.message import Usage
from evenhand.core.step import Step, StepKind, StepStatus
from evenhand.providers.command_agents.claude_code import read_claude
from evenhand.providers.command_agents.codex import read_codex
from evenhand.providers.command_agents.transcript import (
    Format,
    Line,
    Transcript,
    dollars,
    objects,
    whole,
)


def read_transcript(lines: Sequence[Line], format_: Format = "auto") -> tuple[Format, Transcript]:
    """What these lines tell, and the format that they were in. Lines that are not in it count nothing."""
    chosen = _format_of(lines) if format_ == "auto" else format_
    if chosen == "claude":
        return chosen, read_claude(objects(lines))
    if chosen == "codex":
        return chosen, read_codex(objects(lines))
    if chosen == "steps":
        return chosen, read_steps(objects(lines))
    return "text", Transcript(
        output="\n".join(line for _, line in lines).strip() if lines else None
    )


def _format_of(lines: Sequence[Line]) -> Format:
    """The format of a program's lines, by what is in them."""
    events = [event for _, event in objects(lines)]
    kinds = {str(event.get("type")) for event in events}
    if "thread.started" in kinds or {"turn.started", "turn.completed", "turn.failed"} & kinds:
        return "codex"
    if any(e.get("type") in ("system", "result") and "session_id" in e for e in events):
        return "claude"
    count = sum(1 for _, line in lines if line.strip())
    ours = [event for event in events if event.keys() & {"kind", "output", "error"}]
    if len(ours) == count and any(event.keys() & {"kind", "output"} for event in ours):
        return "steps"
    return "text"


_KINDS = get_args(StepKind)
_STATUSES = get_args(StepStatus)


def read_steps(events: Sequence[tuple[float, Mapping[str, Any]]]) -> Transcript:
    """What `{"kind": "tool", "name": …, "arguments": …, "result": …}` and, at the end, `{"output": …}` tell.

    A line with `error` and no `kind` says that what the program needs failed it.
    """
    steps: list[Step] = []
    last: Mapping[str, Any] = {}
    for at, event in events:
        if event.get("kind") in _KINDS and isinstance(event.get("name"), str):
            steps.append(_step(event, at, len(steps)))
        elif "output" in event or "error" in event:
            last = event
    failed = last.get("error")
    return Transcript(
        output=last.get("output"),
        steps=tuple(steps),
        usage=Usage(whole(last.get("tokens_in")), whole(last.get("tokens_out"))),
        cost_usd=dollars(last.get("cost_usd")),
        model=str(last.get("model") or ""),
        failed=str(failed) if failed else "",
    )


def _step(event: Mapping[str, Any], at: float, place: int) -> Step:
    status = event.get("status")
    error = event.get("error")
    if status not in _STATUSES:
        status = "error" if error else "ok" if "result" in event else "unknown"
    took = dollars(event.get("duration_s"))
    began = dollars(event.get("started_s"))
    parent = whole(event.get("parent"))
    return Step(
        kind=cast("StepKind", event["kind"]),
        name=str(event["name"]),
        arguments=event.get("arguments"),
        result=event.get("result"),
        status=cast("StepStatus", status),
        error=str(error) if error else "",
        # It is printed when it is over.
        started_s=max(0.0, at - (took or 0.0)) if began is None else began,
        duration_s=took,
        parent=parent if parent is not None and parent < place else None,
        agent=str(event.get("agent") or ""),
        tokens_in=whole(event.get("tokens_in")),
        tokens_out=whole(event.get("tokens_out")),
        cost_usd=dollars(event.get("cost_usd")),
        call=str(event.get("call") or ""),
    )
