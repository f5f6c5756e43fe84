"""Which format a program's lines are in, and what they tell; also of a program that reports its own steps."""

from __future__ import annotations

import re
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

_OURS = {"kind", "output", "error"}
_BROKEN = re.compile(r'\s*\{\s*"(?:kind|output|error)"\s*:')
"""How a line of ours begins; if it isn't JSON, the rest of it is missing."""


def read_transcript(lines: Sequence[Line], format_: Format = "auto") -> tuple[Format, Transcript]:
    """What these lines tell, and the format that they were in. Lines that are not in it count nothing."""
    chosen = _format_of(lines) if format_ == "auto" else format_
    if chosen == "claude":
        return chosen, read_claude(objects(lines))
    if chosen == "codex":
        return chosen, read_codex(objects(lines))
    if chosen == "steps":
        return chosen, read_steps(lines)
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
    if any(map(is_step, events)):  # whatever else it prints: no text of an answer is like that
        return "steps"
    ours = [event for event in events if event.keys() & _OURS]
    rest = [line for line in _others(lines) if line.strip() and not _BROKEN.match(line)]
    return (
        "steps" if not rest and any(event.keys() & {"kind", "output"} for event in ours) else "text"
    )


def _others(lines: Sequence[Line]) -> list[str]:
    """The lines that are none of ours."""
    return [one[1] for one in lines if not any(event.keys() & _OURS for _, event in objects([one]))]


def _broken(lines: Sequence[Line]) -> list[str]:
    return [line for line in _others(lines) if _BROKEN.match(line)]


def read_steps(lines: Sequence[Line]) -> Transcript:
    """What `{"kind": "tool", "name": …, "arguments": …, "result": …}` and, at the end, `{"output": …}` tell.

    A line with `error` and no `kind` says that what the program needs failed it. Without a line with `output`, what
    else it prints is its answer.
    """
    steps: list[Step] = []
    last: Mapping[str, Any] = {}
    for at, event in objects(lines):
        if is_step(event):
            steps.append(step_of(event, len(steps), at))
        elif "output" in event or "error" in event:
            last = event
    failed = last.get("error")
    if not failed and (broken := _broken(lines)):
        failed = f"printed a line that is no whole JSON: {broken[0]:.80}"
    return Transcript(
        output=last.get("output") if last else "\n".join(_others(lines)).strip() or None,
        steps=tuple(steps),
        usage=Usage(whole(last.get("tokens_in")), whole(last.get("tokens_out"))),
        cost_usd=dollars(last.get("cost_usd")),
        model=str(last.get("model") or ""),
        failed=str(failed) if failed else "",
    )
