"""A step: one thing that an agent did on its way to an answer, whoever saw it.

Recorded calls, tools that are recorded at the door, what an application reports and what a trace tells all become
steps, so that one scorer, one page and one export serve them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from evenhand.core.record import Record

StepKind = Literal["model", "tool", "agent", "message"]
"""A model was asked; a tool was called; an agent was at work, with steps of its own; somebody said something."""

StepStatus = Literal["ok", "error", "unknown"]
"""It did what it was to do; it failed; nobody says."""


class Step(Record, frozen=True):
    """One step of a trial.

    Attributes:
        name: Of a tool or an agent, its name; of a model, the model; of a message, who spoke: `user`, `assistant`.
        arguments: What a tool or an agent was given, or a model asked, as JSON; None where nobody says.
        result: What came of it, as JSON: what a tool returned, what a model answered, what was said.
        error: Why it failed, in words; empty where it did not, or nobody says.
        started_s: Seconds from the beginning of the trial's first step; None where nobody says.
        duration_s: Seconds that it took; None where nobody says.
        parent: The place of the step that it was part of, among the trial's steps; None for one at the top. A parent
            stands before its children.
        agent: The agent that did it; empty where there is one only, or nobody says.
        tokens_in: Tokens that a model read; None where nobody says.
        tokens_out: Tokens that a model wrote; None where nobody says.
        cost_usd: Dollars; None where the price is not known.
        call: The vendor's id, which ties a tool's call to the answer that asked for it; empty where there is none.
        record: Where a run file has the rest of it: a recorded call of a model or a tool, as `record_of` names it;
            empty where this is all there is.
    """

    kind: StepKind
    name: str
    arguments: Any = None
    result: Any = None
    status: StepStatus = "unknown"
    error: str = ""
    started_s: float | None = None
    duration_s: float | None = None
    parent: int | None = None
    agent: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    call: str = ""
    record: str = ""


def record_of(what: Literal["call", "tool"], key: str, nth: int) -> str:
    """The name of a recorded call of a model or a tool among those of its trial.

    Args:
        what: Whether a model or a tool was called.
        key: The request's hash.
        nth: Its number among the trial's identical requests, from 0.
    """
    return f"{what}:{key}:{nth}"


def depth(steps: Sequence[Step], place: int) -> int:
    """How many steps the one at a place is within; 0 at the top.

    >>> depth([Step("agent", "shop"), Step("tool", "search", parent=0)], 1)
    1
    """
    levels = 0
    parent = steps[place].parent
    while parent is not None:
        levels += 1
        parent = steps[parent].parent
    return levels
