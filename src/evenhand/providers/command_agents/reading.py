"""Which format a program's lines are in, and what they tell; also of a program that reports its own steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.listed_steps import is_step, step_of
from evenhand.core.message import Usage
from evenhand.core.step import Step
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


def read_steps(events: Sequence[tuple[float, Mapping[str, Any]]]) -> Transcript:
    """What `{"kind": "tool", "name": …, "arguments": …, "result": …}` and, at the end, `{"output": …}` tell.

    A line with `error` and no `kind` says that what the program needs failed it.
    """
    steps: list[Step] = []
    last: Mapping[str, Any] = {}
    for at, event in events:
        if is_step(event):
            steps.append(step_of(event, len(steps), at))
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
