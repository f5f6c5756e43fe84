"""Which format a program's lines are in, and what they tell."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.providers.command_agents.claude_code import read_claude
from evenhand.providers.command_agents.codex import read_codex
from evenhand.providers.command_agents.reported_lines import read_steps
from evenhand.providers.command_agents.transcript import Format, Line, Transcript, objects


def read_transcript(lines: Sequence[Line], wanted: Format = "auto") -> tuple[Format, Transcript]:
    """What these lines tell, and the format that they were in. Lines that are not in it count nothing."""
    chosen = _format_of(lines) if wanted == "auto" else wanted
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
    told = sum(1 for _, line in lines if line.strip())
    ours = [event for event in events if event.keys() & {"kind", "output", "error"}]
    if len(ours) == told and any(event.keys() & {"kind", "output"} for event in ours):
        return "steps"
    return "text"
